"""Checks of a job over the datasets of several owners of one service: all ledgers move, or none does."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.tables import Dataset, Job, LedgerEntry, Release
from core.dp.charge import Charge, charge_of
from core.ledger import ledger_queries, repository
from core.ledger.reservation import fold_all
from core.plan.ordered_plan import ordered_plan_from_json
from tests.faults.checks import of_chain, of_job
from tests.faults.stack import Stack


def order_violations(stack: Stack, datasets: Sequence[str], ends: frozenset[str]) -> list[str]:
    """Everything that does not hold for an order over the datasets of one service.

    Args:
        stack: the service.
        datasets: of the owners.
        ends: how the job may have ended; empty if there must be none.
    """
    with stack.database() as database, database.read_only() as session:
        return [*of_order(session, stack, datasets, ends)]


def of_order(session: Session, stack: Stack, datasets: Sequence[str], ends: frozenset[str]) -> Iterator[str]:
    """See `order_violations`."""
    rows = [session.get_one(Dataset, UUID(each)) for each in datasets]
    populations = [row.population_id for row in rows]
    jobs = session.scalars(select(Job).where(Job.dataset_id.in_([row.id for row in rows]))).all()
    if len(jobs) != bool(ends):
        yield f"{len(jobs)} jobs came of one order"
    charged = session.scalars(
        select(LedgerEntry.job_id)
        .where(LedgerEntry.population_id.in_(populations), LedgerEntry.job_id.is_not(None))
        .distinct()
    ).all()
    if {*charged} != {job.id for job in jobs}:
        yield f"{len(charged)} jobs are charged to the owners of {len(jobs)}"
    for population_id in populations:
        yield from of_chain(session, population_id)
        yield from of_cap(session, population_id)
    for job in jobs:
        yield from of_job(stack, session, job, ends, ledgers=len(rows))
        yield from _of_charges(session, job)


def _of_charges(session: Session, job: Job) -> Iterator[str]:
    """All ledgers are charged alike: what the certificate states, and at least what has begun."""
    charges = [one.in_force for one in ledger_queries.reservations_of(session, job.id).values()]
    if any(one != charges[0] for one in charges):
        yield "the ledgers are charged different amounts"
    plan = ordered_plan_from_json(job.plan)
    used = charge_of(plan.executed(job.steps_begun), delta=plan.guarantee.delta)
    if job.steps_begun and not all(covers(one, used) for one in charges):
        yield "a ledger is charged less than what has begun"
    release = session.scalars(select(Release).where(Release.job_id == job.id)).one_or_none()
    if release is not None and [one["charge"] for one in release.certificate["ledgers"]] != [
        one.to_json() for one in charges
    ]:
        yield "the certificate states another charge than the ledgers"


def covers(charged: Charge, used: Charge) -> bool:
    """Whether a charge is at least another one, under every filter."""
    return charged.epsilon_micros >= used.epsilon_micros and all(
        one >= other for one, other in zip(charged.rdp_micros, used.rdp_micros, strict=True)
    )


def of_cap(session: Session, population_id: UUID) -> Iterator[str]:
    """The sum of everything that counts stays within the owner's cap."""
    cap = ledger_queries.cap_of(session, population_id)
    assert cap is not None, "it was set"
    folded = fold_all(repository.movements(session, population_id)).values()
    charged = sum(one.in_force.epsilon_micros for one in folded)
    if charged > round(cap.epsilon * 1e6):
        yield f"the ledger is overspent: {charged} of {cap.epsilon}"
