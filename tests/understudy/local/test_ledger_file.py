"""The ledger as a file: refuses overspending, survives crashes, and shows that a line was changed."""

import fcntl
import json
import multiprocessing
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from core.clock import SystemClock
from core.dp.mechanism import to_json
from core.ledger.entries import LEDGER_CHAIN
from core.ledger.reservation import NOTHING, EntryKind, Movement
from core.plan.plan import Plan
from core.plan.quote import plan_charge
from tests.core.artifacts.certified import plan_for
from understudy import BudgetRefused, Conflict, InputUnusable, InvalidInput, VerificationFailed
from understudy.local.ledger.accounts import pay, read_account, set_cap, settle
from understudy.local.ledger.file import ledger_path, opened_ledger
from understudy.local.ledger.lines import entry_from, line_of

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
    with pytest.raises(BudgetRefused, match="for one more order") as refused:
        paid(ledgers, plan)
    assert refused.value.code == "budget-refused"
    assert lines(ledgers) == before
    account = read_account("wards", ledgers=ledgers)
    assert 1.9 < float(account.spent["epsilon"]) <= 2
    assert set(account.jobs.values()) == {"SPENT"}


@pytest.mark.parametrize("options", [{"critic": False}, {"steps": 2}], ids=["anchor alone", "critic"])
def test_a_training_that_never_settled_cost_as_much_as_one_that_did(
    ledgers: Path, options: dict[str, Any]
) -> None:
    """Nothing but the settling comes after the spend: a crash anywhere between leaves the ledger as it is here."""
    plan = plan_for(options)
    path, job_id = ledger_path(ledgers, "wards"), uuid4()
    payment = pay(path, "wards", plan, job_id=job_id, clock=CLOCK)
    crashed = read_account("wards", ledgers=ledgers)
    settle(path, "wards", plan, payment, job_id=job_id, clock=CLOCK)
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
    found = sorted(outcomes.get(timeout=600) for _ in processes)
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


def test_a_training_of_which_only_the_reservation_reached_the_disk_counts(ledgers: Path, plan: Plan) -> None:
    paid(ledgers, plan)
    paid(ledgers, plan)
    whole = lines(ledgers)
    ledger_path(ledgers, "wards").write_text("".join(whole).removesuffix("\n"))
    account = read_account("wards", ledgers=ledgers)
    assert lines(ledgers) == whole[:-1]
    assert sorted(account.jobs.values()) == ["RESERVED", "SPENT"]
    assert account.reserved == account.spent
    with pytest.raises(BudgetRefused):
        paid(ledgers, plan)


def test_of_a_header_that_was_being_written_when_the_machine_stopped_nothing_is_left(tmp_path: Path) -> None:
    with opened_ledger(ledger_path(tmp_path, "wards"), "wards"):
        pass
    whole = ledger_path(tmp_path, "wards").read_bytes()
    for length in (0, 1, 60, len(whole) - 1):
        ledger_path(tmp_path, "wards").write_bytes(whole[:length])
        assert read_account("wards", ledgers=tmp_path).cap is None
        assert ledger_path(tmp_path, "wards").read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("other", [b"\r", b"", b"\x00"], ids=["returns", "nothing", "zeros"])
def test_a_file_that_has_lost_its_line_ends_is_no_new_ledger(ledgers: Path, plan: Plan, other: bytes) -> None:
    """Whatever a program made of the line ends: to begin again would give the whole budget back."""
    paid(ledgers, plan)
    path = ledger_path(ledgers, "wards")
    changed = path.read_bytes().replace(b"\n", other)
    path.write_bytes(changed)
    with pytest.raises(VerificationFailed, match="Nothing may be spent"):
        set_cap("wards", epsilon=2.0, delta=4e-6, ledgers=ledgers)
    assert path.read_bytes() == changed


def test_whoever_waited_for_a_ledger_that_was_replaced_pays_into_the_one_that_lies_there(
    ledgers: Path, plan: Plan
) -> None:
    """An editor, or a backup that is put back, makes another file of the same name while somebody waits for the lock."""
    path = ledger_path(ledgers, "wards")
    holder = path.open("r+b")
    fcntl.flock(holder, fcntl.LOCK_EX)
    payer = threading.Thread(target=paid, args=(ledgers, plan))
    payer.start()
    wait_until_locked_out(path)
    copy = path.with_suffix(".new")
    shutil.copy(path, copy)
    copy.replace(path)
    holder.close()
    payer.join()
    assert list(read_account("wards", ledgers=ledgers).jobs.values()) == ["SPENT"]


def wait_until_locked_out(path: Path) -> None:
    """Return when somebody waits for the lock on a file, as the kernel tells it: a line with an arrow."""
    inode = f":{path.stat().st_ino} "
    for _ in range(6000):
        held = Path("/proc/locks").read_text().splitlines()
        if any(inode in line and "->" in line for line in held):
            return
        time.sleep(0.01)
    pytest.fail("nobody waits")


def test_what_was_paid_into_a_file_that_is_gone_does_not_begin(
    ledgers: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge would be in no ledger: replaced between the lock and the line, the file is written to in vain."""
    path = ledger_path(ledgers, "wards")
    before = path.read_bytes()

    def replaced(descriptor: int) -> None:
        path.unlink()
        path.write_bytes(before)

    monkeypatch.setattr("understudy.local.ledger.file.os.fsync", replaced)
    with pytest.raises(VerificationFailed, match="replaced while"):
        paid(ledgers, plan)
    assert path.read_bytes() == before


def with_smaller_charge(document: dict[str, object]) -> dict[str, object]:
    text = json.dumps(document)
    assert '"epsilon_micros": ' in text
    charge = dict(document["charge"])  # type: ignore[call-overload]
    return document | {"charge": charge | {"epsilon_micros": 1}}


def rehashed(document: dict[str, object], ledgers: Path) -> dict[str, object]:
    with opened_ledger(ledger_path(ledgers, "other"), "other") as other:
        population = other.population_id
    header = json.loads(lines(ledgers)[0])
    entry = entry_from(document, type(population)(header["population_id"]))
    return document | {"hash": LEDGER_CHAIN.hash_of(entry).hex()}


TAMPERING: dict[str, Callable[[list[str], Path], list[str]]] = {
    "a smaller charge": lambda whole, _: [
        *whole[:-1],
        line_of(with_smaller_charge(json.loads(whole[-1]))),
    ],
    "a smaller charge under a hash of its own": lambda whole, ledgers: [
        *whole[:-1],
        line_of(rehashed(with_smaller_charge(json.loads(whole[-1])), ledgers)),
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


def test_trainings_of_another_privacy_unit_are_refused_and_leave_no_trace(ledgers: Path, plan: Plan) -> None:
    """A training that protects rows bounds nothing for a person with many of them, so one cap cannot bound both."""
    by_person = plan_for({"critic": False}, unit="person")
    paid(ledgers, plan)
    before = lines(ledgers)
    with pytest.raises(Conflict, match="protect each record, and this one each value of 'person'") as refused:
        paid(ledgers, by_person)
    assert refused.value.code == "unit-differs"
    assert lines(ledgers) == before
    paid(ledgers, plan)


def test_the_privacy_unit_in_the_file_cannot_be_edited(ledgers: Path, plan: Plan) -> None:
    paid(ledgers, plan)
    changed = "".join(lines(ledgers)).replace('"privacy_unit":null', '"privacy_unit":"person"')
    assert changed != "".join(lines(ledgers))
    ledger_path(ledgers, "wards").write_text(changed)
    with pytest.raises(VerificationFailed):
        read_account("wards", ledgers=ledgers)


def test_a_ledger_from_before_units_were_noted_is_read(ledgers: Path, plan: Plan) -> None:
    with opened_ledger(ledger_path(ledgers, "wards"), "wards") as ledger:
        reserving = Movement(kind=EntryKind.RESERVED, job_id=uuid4(), charge=plan_charge(plan))
        ledger.append(reserving, clock=CLOCK, mechanism=to_json(plan.mechanism))
        job_id = reserving.job_id
        ledger.append(Movement(kind=EntryKind.VOIDED, job_id=job_id, charge=NOTHING), clock=CLOCK)
    paid(ledgers, plan_for({"critic": False}, unit="person"))
    with pytest.raises(Conflict, match="each value of 'person', and this one each record"):
        paid(ledgers, plan)


def test_a_name_that_is_nearly_another_ones_is_asked_about(ledgers: Path, plan: Plan) -> None:
    with pytest.raises(Conflict, match="No cap is set for 'ward'; did you mean 'wards'"):
        pay(ledger_path(ledgers, "ward"), "ward", plan, job_id=uuid4(), clock=CLOCK)


class Somewhere:
    """A path of another library."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


@pytest.mark.parametrize("kind", [str, Path, Somewhere])
def test_a_folder_is_text_or_a_path(tmp_path: Path, kind: type) -> None:
    folder = kind(tmp_path)
    assert set_cap("wards", epsilon=1.0, delta=1e-6, ledgers=folder).path == tmp_path / "wards.jsonl"
    assert read_account("wards", ledgers=folder).cap == {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("wrong", [5, b"there", ["a"]])
def test_a_folder_outside_the_path_is_reported(wrong: object) -> None:
    with pytest.raises(InputUnusable, match=r"ledgers must be a path: text or os\.PathLike"):
        read_account("wards", ledgers=wrong)  # type: ignore[arg-type]
