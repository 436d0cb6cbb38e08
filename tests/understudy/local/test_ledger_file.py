"""The ledger as a file: refuses overspending, survives crashes, and shows that a line was changed."""

import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from core.clock import SystemClock
from core.ledger.chain import hash_of
from core.synthesis.plan import Plan
from tests.core.releases.certified import plan_for
from understudy import BudgetRefused, Conflict, InputUnusable, InvalidInput, VerificationFailed
from understudy.local.accounts import pay, read_account, set_cap, settle
from understudy.local.ledger_file import _entry_from, _line, ledger_path, opened_ledger

CLOCK = SystemClock()


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A training of epsilon 1 and delta 1e-6, of the anchor alone: its charge is quick to compute."""
    return plan_for({"critic": False})


@pytest.fixture
def ledgers(tmp_path: Path) -> Path:
    """Room for two such trainings and not for three."""
    set_cap("wards", epsilon=2.0, delta=4e-6, ledgers=tmp_path)
    return tmp_path


def paid(ledgers: Path, plan: Plan) -> None:
    pay(ledger_path(ledgers, "wards"), "wards", plan, job_id=uuid4(), clock=CLOCK)


def lines(ledgers: Path) -> list[str]:
    return ledger_path(ledgers, "wards").read_text().splitlines(keepends=True)


def test_a_third_training_is_refused_and_leaves_no_trace(ledgers: Path, plan: Plan) -> None:
    paid(ledgers, plan)
    paid(ledgers, plan)
    before = lines(ledgers)
    with pytest.raises(BudgetRefused, match="requested") as refused:
        paid(ledgers, plan)
    assert refused.value.code == "budget-refused"
    assert lines(ledgers) == before
    account = read_account("wards", ledgers=ledgers)
    assert 1.9 < float(account.spent["epsilon"]) <= 2
    assert set(account.jobs.values()) == {"SPENT"}


def test_a_training_that_never_settled_cost_as_much_as_one_that_did(ledgers: Path, plan: Plan) -> None:
    """Nothing but the settling comes after the spend: a crash anywhere between leaves the ledger as it is here."""
    path, job_id = ledger_path(ledgers, "wards"), uuid4()
    pay(path, "wards", plan, job_id=job_id, clock=CLOCK)
    crashed = read_account("wards", ledgers=ledgers)
    settle(path, "wards", plan, job_id=job_id, clock=CLOCK)
    settled = read_account("wards", ledgers=ledgers)
    assert crashed.spent == settled.spent
    assert crashed.remaining_epsilon == settled.remaining_epsilon
    assert list(settled.jobs.values()) == ["SETTLED"]


def test_without_a_cap_nothing_is_spent_and_the_cap_is_set_once(tmp_path: Path, plan: Plan) -> None:
    with pytest.raises(Conflict, match="set_cap") as refused:
        paid(tmp_path, plan)
    assert refused.value.code == "budget-not-set"
    set_cap("wards", epsilon=1.0, delta=1e-6, ledgers=tmp_path)
    with pytest.raises(Conflict, match="is set: epsilon 1"):
        set_cap("wards", epsilon=100.0, delta=1e-3, ledgers=tmp_path)
    assert read_account("wards", ledgers=tmp_path).cap == {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (float("nan"), 1e-6), (1.0, 1.0)])
def test_a_cap_out_of_range_is_refused(tmp_path: Path, epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidInput):
        set_cap("wards", epsilon=epsilon, delta=delta, ledgers=tmp_path)


@pytest.mark.parametrize("name", ["", "../wards", ".hidden", "a b", "x" * 101])
def test_a_name_that_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputUnusable, match="name"):
        read_account(name, ledgers=tmp_path)


def test_of_several_processes_at_once_only_as_many_spend_as_the_cap_admits(ledgers: Path, plan: Plan) -> None:
    context = multiprocessing.get_context("fork")
    outcomes = context.Queue()

    def attempt() -> None:
        try:
            paid(ledgers, plan)
        except BudgetRefused:
            outcomes.put("refused")
        else:
            outcomes.put("spent")

    processes = [context.Process(target=attempt) for _ in range(6)]
    for process in processes:
        process.start()
    found = sorted(outcomes.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    assert found == ["refused"] * 4 + ["spent"] * 2
    assert len(read_account("wards", ledgers=ledgers).jobs) == 2


def test_a_line_that_was_being_written_when_the_machine_stopped_is_cut_off(ledgers: Path, plan: Plan) -> None:
    paid(ledgers, plan)
    whole = lines(ledgers)
    ledger_path(ledgers, "wards").write_text("".join(whole) + whole[-1][:40])
    account = read_account("wards", ledgers=ledgers)
    assert lines(ledgers) == whole
    assert len(account.jobs) == 1


def with_smaller_charge(document: dict[str, object]) -> dict[str, object]:
    text = json.dumps(document)
    assert '"epsilon_micros": ' in text
    charge = dict(document["charge"])  # type: ignore[call-overload]
    return document | {"charge": charge | {"epsilon_micros": 1}}


def rehashed(document: dict[str, object], ledgers: Path) -> dict[str, object]:
    with opened_ledger(ledger_path(ledgers, "other"), "other") as other:
        population = other.population_id
    header = json.loads(lines(ledgers)[0])
    entry = _entry_from(document, type(population)(header["population_id"]))
    return document | {"hash": hash_of(entry).hex()}


TAMPERING: dict[str, Callable[[list[str], Path], list[str]]] = {
    "a smaller charge": lambda whole, _: [
        *whole[:-1],
        _line(with_smaller_charge(json.loads(whole[-1]))),
    ],
    "a smaller charge under a hash of its own": lambda whole, ledgers: [
        *whole[:-1],
        _line(rehashed(with_smaller_charge(json.loads(whole[-1])), ledgers)),
    ],
    "a line less": lambda whole, _: [*whole[:2], *whole[3:]],
    "two lines exchanged": lambda whole, _: [*whole[:2], whole[3], whole[2], *whole[4:]],
    "a line twice": lambda whole, _: [*whole, whole[-1]],
    "a larger cap": lambda whole, _: [
        whole[0],
        whole[1].replace('"epsilon":2.0', '"epsilon":9.0'),
        *whole[2:],
    ],
    "another rule": lambda whole, _: [whole[0].replace("filters", "none"), *whole[1:]],
    "another population": lambda whole, _: [
        whole[0].replace(json.loads(whole[0])["population_id"], str(uuid4())),
        *whole[1:],
    ],
    "another dataset": lambda whole, _: [whole[0].replace("wards", "words"), *whole[1:]],
    "no JSON": lambda whole, _: [*whole, "so what\n"],
    "no header": lambda whole, _: whole[1:],
}


@pytest.mark.parametrize("name", TAMPERING)
def test_a_file_that_was_changed_is_refused(ledgers: Path, plan: Plan, name: str) -> None:
    paid(ledgers, plan)
    changed = TAMPERING[name](lines(ledgers), ledgers)
    ledger_path(ledgers, "wards").write_text("".join(changed))
    with pytest.raises(VerificationFailed, match="Nothing may be spent"):
        paid(ledgers, plan)
    with pytest.raises(VerificationFailed):
        read_account("wards", ledgers=ledgers)


def test_the_file_holds_public_facts_alone(ledgers: Path, plan: Plan) -> None:
    paid(ledgers, plan)
    assert ledger_path(ledgers, "wards").stat().st_mode & 0o777 == 0o600
    members = set().union(*(json.loads(line) for line in lines(ledgers)))
    assert members == {
        "schema", "dataset", "population_id", "rule", "sequence", "kind", "at", "balance", "previous_hash", "hash",
        "job_id", "charge", "terms", "mechanism",
    }  # fmt: skip
