"""Owners that freeze, revoke and grant again at any moment: no ledger is charged without the others, and none beyond its cap.

Every round does several things at once, on connections of their own; then all ledgers are compared. Which owners withdraw,
and when, follows from a seed; who comes first is the machine's.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import select

from core.db.tables import Job
from core.errors import UnderstudyError
from core.jobs import claims, endings
from core.jobs.states import OWNER_WITHDREW, Cause
from core.ledger import governance, ledger, ledger_queries
from core.ledger.ledger import append_movement, current_balances
from core.ledger.reservation import EntryKind, Movement, fold_all
from tests.core.jobs.test_races import at_once
from tests.core.jobs.test_several_owners import Consortium
from tests.core.ledger.support import HOLDER, NOON

ROUNDS, AT_ONCE = 10, 3
CAP = 3.0
EPSILON = 0.5
R, S, V, T = EntryKind.RESERVED, EntryKind.SPENT, EntryKind.VOIDED, EntryKind.SETTLED
LEGAL = {
    "queued": {(R,)},
    "running": {(R, S)},
    "cancelled": {(R, V), (R, S, T)},
    "failed": {(R, S)},
    OWNER_WITHDREW: {(R, V)},
}
"""What every ledger may say of a job in a state, or of one that failed because an owner withdrew."""


class Withdrawing(Consortium):
    """Owners who change their minds, an analyst who orders, and a worker who claims."""

    def come_back(self, place: int) -> None:
        """Unfreeze an owner's ledger, and grant again."""
        with self.database.transaction() as session:
            governance.unfreeze(session, self.populations[place], by="owner", reason="back", clock=self.clock)
            made = governance.grant(
                session,
                self.populations[place],
                holder=HOLDER,
                epsilon=CAP,
                delta=1e-4,
                expires_at=NOON + timedelta(days=9),
                by="owner",
                clock=self.clock,
            )
        self.grants[place] = made.id

    def end(self, job_id: UUID, *, failed: bool) -> None:
        """Train a job to its cancellation, or to a failure among the rows."""
        claim = self.claim(job_id)
        if claim is None:
            return
        if failed:
            with self.database.transaction() as session:
                endings.fail(
                    session, claim, code="machinery-failed", cause=Cause.ROWS, clock=self.clock,
                    queue=self.queue, max_attempts=3,
                )  # fmt: skip
            return
        with self.database.transaction() as session:
            claims.advance(session, claim, stage="train", step=10, total=20)
        self.cancel(job_id)
        with self.database.transaction() as session:
            endings.stop(session, claim, clock=self.clock)

    def waiting(self) -> list[UUID]:
        with self.database.read_only() as session:
            return list(session.scalars(select(Job.id).where(Job.state == "queued").order_by(Job.id)))

    def round(self, draw: np.random.Generator) -> None:
        """Order with all owners there; then an owner withdraws, while others order, claim, cancel and end jobs."""
        for place in range(3):
            self.come_back(place)
        plan, place = self.plan(EPSILON), int(draw.integers(3))
        with suppress(UnderstudyError):
            self.order(plan)
        withdraw = partial(self.freeze if draw.random() < 0.5 else self.revoke, place)
        if draw.random() < 0.4:
            withdraw()
        at_once(withdraw, partial(self.order, plan), *self.actions(draw))

    def actions(self, draw: np.random.Generator) -> Iterator[Callable[[], object]]:
        """What becomes of some jobs that wait."""
        for job_id in draw.permutation(np.array(self.waiting(), dtype=object))[:AT_ONCE]:
            chosen = draw.random()
            if chosen < 0.2:
                yield partial(self.cancel, job_id)
            elif chosen < 0.8:
                yield partial(self.end, job_id, failed=chosen < 0.5)
            else:
                yield partial(self.claim, job_id)


def violations(owners: Consortium) -> Iterator[str]:
    """What the ledgers say that cannot be: of one job different things, or more than a cap."""
    seen: list[dict[UUID, tuple[tuple[EntryKind, ...], object]]] = []
    with owners.database.read_only() as session:
        jobs = {
            job.id: job.failure_code if job.failure_code == OWNER_WITHDREW else job.state
            for job in session.scalars(select(Job))
        }
        for population in owners.populations:
            if not ledger_queries.verify_chain(session, population).intact:
                yield "a chain is broken"
            movements = [one.movement for one in ledger_queries.statement(session, population).movements]
            folded = fold_all(movements)
            kinds = {
                job_id: tuple(one.kind for one in movements if one.job_id == job_id) for job_id in folded
            }
            seen.append({job_id: (kinds[job_id], folded[job_id].in_force) for job_id in folded})
            if sum(one.in_force.epsilon_micros for one in folded.values()) > CAP * 1e6:
                yield "a ledger is charged more than its cap"
    if any(one != seen[0] for one in seen):
        yield "a ledger was moved without the others"
    if set(seen[0]) != set(jobs):
        yield "a job is in no ledger, or a charge is of no job"
    for job_id, (kinds, _) in seen[0].items():
        if kinds not in LEGAL[jobs[job_id]]:
            yield f"the ledgers of a job that is {jobs[job_id]} say {kinds}"


@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_owners_withdraw_all_ledgers_agree(database, seed):
    owners = Withdrawing(database, caps=(CAP,) * 3)
    draw = np.random.default_rng(seed)
    for number in range(ROUNDS):
        owners.round(draw)
        assert list(violations(owners)) == [], f"seed {seed} round {number}"
    with database.read_only() as session:
        ended = {job.failure_code or job.state for job in session.scalars(select(Job))}
    assert OWNER_WITHDREW in ended, "somebody withdrew in time"
    assert ended - {OWNER_WITHDREW, "queued"}, "and some jobs were charged"


def test_the_comparison_sees_a_ledger_that_moved_alone(database):
    owners = Withdrawing(database, caps=(CAP,) * 3)
    job_id = owners.order(owners.plan(EPSILON))
    assert list(violations(owners)) == []
    with database.transaction() as session:
        reservation = ledger_queries.reservation_of(session, job_id)
        budget = ledger.lock(session, owners.populations[0])
        balances = current_balances(session, budget, grant_id=reservation.grant_id)
        spent = Movement(kind=S, job_id=job_id, charge=reservation.reserved, grant_id=reservation.grant_id)
        append_movement(session, budget, balances, reservation, spent, fence=1, clock=owners.clock)
    assert "a ledger was moved without the others" in list(violations(owners))
