"""Every fault of the drill of consortiums (tests.faults.federated_drill) once, on real stacks; and that its checks can fail.

The daily ones need one stack: the other owner is played, or all owners' rows lie in one service. The others are long.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from tests.faults.consortium import Federation, Member
from tests.faults.federated_checks import (
    differing,
    federation_violations,
    of_board,
    of_member,
    sums_violations,
    used_by,
)
from tests.faults.federated_drill import FederatedDrill, fault_of
from tests.faults.federated_faults import FAULTS
from tests.faults.owners_checks import covers, of_order, order_violations
from tests.faults.processes import marked
from tests.faults.scene import SUCCEEDED
from tests.faults.stack import Stack

pytestmark = pytest.mark.system

SEED = 2026
DAILY = {
    "owner freezes past the deadline": 27,
    "owner interrupts and repeats": 2,
    "owner lies": 18,
    "one ledger has no room": 1,
    "kill while it spends": 3,
}
"""Daily faults, with the round whose random numbers they have."""


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FederatedDrill]:
    with FederatedDrill(tmp_path_factory.mktemp("consortium"), seed=SEED) as drill:
        yield drill


@pytest.mark.parametrize(
    "fault",
    [pytest.param(name, marks=() if name in DAILY else pytest.mark.long) for name in FAULTS],
)
def test_a_disturbed_consortium_leaves_every_ledger_in_order(drill: FederatedDrill, fault: str) -> None:
    played = drill.play(DAILY.get(fault, 1), fault)
    assert played.violations == [], f"seed {SEED} round {played.number}"
    assert played.landed, "the fault came too late"


def _member(drill: FederatedDrill, state: str, kind: str) -> tuple[Federation, Member]:
    """A federation that ended so, and one of its members."""
    return next((one, member) for one, member in drill.seen if (one.state()[0], one.kind) == (state, kind))


@contextmanager
def _altered(stack: Stack, statement: str) -> Iterator[Session]:
    """A transaction that has altered what the database holds, and is rolled back."""
    with stack.database() as database, database.transaction() as session:
        for table in ("ledger_entries", "releases"):
            session.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
        session.execute(text(statement))
        yield session
        session.rollback()


def _seen(stack: Stack, altered: Mapping[str, str], look: Callable[[Session], Iterator[str]]) -> None:
    for statement, expected in altered.items():
        with _altered(stack, statement) as session:
            found = [*look(session)]
        assert any(expected in each for each in found), (statement, found)


def test_the_checks_see_what_is_out_of_order_at_the_board(drill: FederatedDrill) -> None:
    federation, member = _member(drill, "failed", "model")
    last = federation.rounds - 1
    planted = (
        "INSERT INTO federation_states (federation_id, round, place, sha256, content, created_at)"
        f" VALUES ('{federation.id}', {last}, 0, 'x', 'x', now())"
    )
    _seen(
        federation.board,
        {
            planted: f"round {last} began before the round before was complete",
            f"{planted} ": "a state was taken after the federation was over",
            f"{planted}  ": "a federation that is over keeps states",
            f"UPDATE federation_states SET sha256 = 'y' WHERE federation_id = '{federation.id}'": "was replaced 1",
        },
        lambda session: of_board(session, federation),
    )
    found = federation_violations(federation, [(member, SUCCEEDED)], state="done")
    assert any("the job is failed (member-vanished)" in each for each in found)
    assert any("and not done" in each for each in found)
    assert differing([{"counts.bin": "x"}, {"counts.bin": "y"}]) == differing([{}]) != []


def test_the_checks_see_what_is_out_of_order_at_a_member(drill: FederatedDrill) -> None:
    federation, member = _member(drill, "done", "generator")
    of_job = f"WHERE job_id = '{member.job_id}'"
    certificate = "UPDATE releases SET certificate = jsonb_set(certificate::jsonb, '{%s}', '1') " + of_job
    _seen(
        member.stack,
        {
            f"DELETE FROM ledger_entries {of_job} AND kind = 'SPENT'": "the ledger of a succeeded job",
            f"UPDATE ledger_entries SET fence = 99 {of_job} AND kind = 'SPENT'": "spent under fence",
            f"UPDATE ledger_entries SET epsilon_micros = 1 {of_job}": "rounds that cost",
            f"UPDATE ledger_entries SET epsilon_micros = 2 {of_job}": "the chain is broken",
            f"UPDATE ledger_entries SET epsilon_micros = 9000000 {of_job}": "the ledger is overspent",
            certificate % "charge,epsilon_micros": "another charge than the ledger",
            certificate % "plan,federation,members,0,declared_size": "other sizes than were declared",
            certificate % "more": "the board has another certificate",
            "UPDATE jobs SET sealed_federation = 'x'": "kept its token",
            f"DELETE FROM releases {of_job}": "a succeeded job has 0 releases",
            f"INSERT INTO drill_history (job_id, old_state, new_state) VALUES ('{member.job_id}', 'failed', 'queued')":
            "did not end once",
        },
        lambda session: of_member(session, member, SUCCEEDED, rounds=federation.rounds),
    )  # fmt: skip
    states = federation.last_states()
    assert sums_violations(states, member) == []
    assert sums_violations([states[0], bytes(len(states[1]))], member) != []


def test_the_checks_see_what_is_out_of_order_in_the_ledgers_of_one_job(drill: FederatedDrill) -> None:
    order = next(one for one in drill.orders if one.job is not None and one.job.state == "succeeded")
    assert order_violations(drill.stacks["north"], order.datasets, SUCCEEDED) == []
    of_job = f"WHERE job_id = '{order.job_id}'"
    of_one = f"{of_job} AND population_id = '{order.populations()[0]}'"
    _seen(
        drill.stacks["north"],
        {
            f"DELETE FROM ledger_entries {of_one} AND kind = 'SPENT'": "the ledgers of one job say",
            f"UPDATE ledger_entries SET epsilon_micros = epsilon_micros + 1 {of_one}": "charged different amounts",
            f"UPDATE ledger_entries SET epsilon_micros = 1 {of_job}": "charged less than what has begun",
            f"DELETE FROM ledger_entries {of_one}": "2 ledgers paid for a job over 3 datasets",
            f"UPDATE ledger_entries SET job_id = population_id {of_one}": "2 jobs are charged",
            "UPDATE releases SET certificate = jsonb_set(certificate::jsonb, '{ledgers,0,charge,epsilon_micros}', '1') "
            + of_job: "another charge than the ledgers",
        },
        lambda session: of_order(session, drill.stacks["north"], order.datasets, SUCCEEDED),
    )  # fmt: skip
    (found, *_) = order_violations(drill.stacks["north"], order.datasets, frozenset())
    assert found == "1 jobs came of one order"


def test_rounds_that_were_handed_in_cost_what_they_were_used_for(drill: FederatedDrill) -> None:
    federation, _ = _member(drill, "failed", "model")
    plan = federation.planned("north")
    costs = [used_by(plan, rounds) for rounds in range(federation.rounds + 1)]
    assert costs[0].epsilon_micros == 0
    for fewer, more in pairwise(costs):
        assert covers(more, fewer)
    assert not covers(costs[0], costs[1])


def test_a_round_is_the_same_whenever_it_is_played_and_every_fault_has_its_turn() -> None:
    assert fault_of(SEED, 7) == fault_of(SEED, 7)
    assert {fault_of(SEED, number) for number in range(1, len(FAULTS) + 1)} == set(FAULTS)
    assert all(FAULTS[name].services == 1 for name in DAILY)


def test_nothing_outlives_a_drill_of_consortiums(drill: FederatedDrill) -> None:
    for stack in drill.stacks.values():
        stack.end()
        assert marked(stack.mark) == []
