"""Reading a ledger: its rows as values, and how its sums developed, at a cost that does not grow with it.

Entries are written by `core.ledger.ledger`, rows of decisions by `core.ledger.governance`.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol
from uuid import UUID

from sqlalchemy import bindparam, func, select, true
from sqlalchemy.orm import Session

from core.db.tables.budget import Budget
from core.db.tables.grant import Grant
from core.db.tables.ledger_entry import MOVEMENTS, LedgerEntry
from core.dp.charge import Charge
from core.dp.filters import AdmissionRule, Cap
from core.ledger.entries import Decision, DecisionKind, Entry
from core.ledger.errors import GrantNotFound, PopulationNotFound, ReservationNotFound
from core.ledger.hash_chain import Head
from core.ledger.reservation import (
    EMPTY_BALANCE,
    RESERVED_EPSILON,
    SPENT_EPSILON,
    Balance,
    EntryKind,
    Movement,
)

COURSE_POINTS: Final = 48
NEWEST_STEPS: Final = 1000

_MOVEMENT = (
    LedgerEntry.kind,
    LedgerEntry.job_id,
    LedgerEntry.epsilon_micros,
    LedgerEntry.delta_femtos,
    LedgerEntry.rdp_micros,
    LedgerEntry.grant_id,
)
_MOVES = LedgerEntry.kind.in_([kind.value for kind in EntryKind])
# Composed once, because claims and settlements run it under the lock.
_MOVEMENTS_OF_JOB = (
    select(LedgerEntry.population_id, *_MOVEMENT)
    .where(LedgerEntry.job_id == bindparam("job_id"))
    .order_by(LedgerEntry.population_id, LedgerEntry.sequence)
)


class BudgetRow(Protocol):
    """The columns of a budget's row, mapped or plain."""

    @property
    def population_id(self) -> UUID: ...  # noqa: D102 - the columns of core/db/tables/budget.py
    @property
    def epsilon_cap(self) -> float | None: ...  # noqa: D102
    @property
    def delta_cap(self) -> float | None: ...  # noqa: D102
    @property
    def rule(self) -> str: ...  # noqa: D102
    @property
    def head_sequence(self) -> int: ...  # noqa: D102
    @property
    def head_hash(self) -> bytes: ...  # noqa: D102
    @property
    def frozen_at(self) -> datetime | None: ...  # noqa: D102


def budget_of(session: Session, population_id: UUID) -> Budget:
    """Return the budget without a lock, for reading only.

    Raises:
        PopulationNotFound: the population has no budget.
    """
    budget = session.get(Budget, population_id, populate_existing=True)
    if budget is None:
        raise PopulationNotFound("No budget is kept for this population.")
    return budget


def populations_of_job(session: Session, job_id: UUID) -> list[UUID]:
    """Return the populations whose ledgers have the job's reservations, in the order in which they are locked.

    Raises:
        ReservationNotFound: no ledger has one.
    """
    found = session.scalars(
        select(LedgerEntry.population_id).where(
            LedgerEntry.job_id == job_id, LedgerEntry.kind == EntryKind.RESERVED.value
        )
    ).all()
    if not found:
        raise ReservationNotFound("The ledger has no reservation of this job.")
    return sorted(found)


def movements(session: Session, population_id: UUID) -> list[Movement]:
    """Return the movements of a population in order."""
    rows = session.execute(
        select(*_MOVEMENT)
        .where(LedgerEntry.population_id == population_id, _MOVES)
        .order_by(LedgerEntry.sequence)
    )
    return [movement_of(*row) for row in rows]


def movements_of_job(session: Session, job_id: UUID) -> dict[UUID, list[Movement]]:
    """Return the movements of one job in order, by population."""
    found: dict[UUID, list[Movement]] = {}
    for row in session.execute(_MOVEMENTS_OF_JOB, {"job_id": job_id}):
        found.setdefault(row[0], []).append(movement_of(*row[1:]))
    return found


def entries(session: Session, population_id: UUID, *, batch_rows: int = 500) -> Generator[Entry, None, None]:
    """Yield entries in order, read a batch at a time so that a long ledger never fills memory. Close it if you stop early."""
    # Columns instead of mapped objects: half the time of a verification went into the latter.
    rows = session.execute(
        select(*LedgerEntry.__table__.columns)
        .where(LedgerEntry.population_id == population_id)
        .order_by(LedgerEntry.sequence)
        .execution_options(yield_per=batch_rows)
    )
    try:
        for row in rows:
            yield entry_of(row)
    finally:
        rows.close()


def links_at(session: Session, population_id: UUID, sequences: Collection[int]) -> set[Head]:
    """Return the chain's heads at those of these places that it has reached."""
    rows = session.execute(
        select(LedgerEntry.sequence, LedgerEntry.hash).where(
            LedgerEntry.population_id == population_id, LedgerEntry.sequence.in_(sequences)
        )
    )
    return {Head(sequence=sequence, hash=link) for sequence, link in rows}


def has_decided_since(session: Session, population_id: UUID, *, sequence: int) -> bool:
    """Return whether a person decided something after this place in the chain."""
    later = select(LedgerEntry.sequence).where(
        LedgerEntry.population_id == population_id,
        LedgerEntry.sequence > sequence,
        LedgerEntry.terms.is_not(None),
    )
    return session.scalar(select(later.exists())) or False


def last_balance(session: Session, population_id: UUID) -> Balance | None:
    """Return the balance at the head; None if the head has none. One statement, so it is consistent without a lock."""
    numbers = session.scalar(
        select(LedgerEntry.balance)
        .join(Budget, Budget.population_id == LedgerEntry.population_id)
        .where(Budget.population_id == population_id, LedgerEntry.sequence == Budget.head_sequence)
    )
    return None if numbers is None else Balance.from_numbers(numbers)


def grant_balance(session: Session, grant_id: UUID) -> Balance:
    """Return the balance of a grant after the last entry that drew on it."""
    numbers = session.scalar(
        select(LedgerEntry.grant_balance)
        .where(LedgerEntry.grant_id == grant_id)
        .order_by(LedgerEntry.sequence.desc())
        .limit(1)
    )
    return EMPTY_BALANCE if numbers is None else Balance.from_numbers(numbers)


def grant_of(session: Session, grant_id: UUID) -> Grant:
    """Return a grant, freshly read.

    Raises:
        GrantNotFound: there is no such grant.
    """
    grant = session.get(Grant, grant_id, populate_existing=True)
    if grant is None:
        raise GrantNotFound
    return grant


def head_of(budget: BudgetRow) -> Head:
    """Return the head on the budget's row."""
    return Head(sequence=budget.head_sequence, hash=budget.head_hash)


def cap_on(budget: BudgetRow) -> Cap | None:
    """Return the cap on the budget's row, or None before one is set."""
    if budget.epsilon_cap is None or budget.delta_cap is None:
        return None
    return Cap(epsilon=budget.epsilon_cap, delta=budget.delta_cap, rule=AdmissionRule(budget.rule))


def grant_cap(row: Grant, budget: BudgetRow) -> Cap:
    """Return the sub-cap of a grant, under the rule of its population."""
    return Cap(epsilon=row.epsilon, delta=row.delta, rule=AdmissionRule(budget.rule))


def payment_of(session: Session, job_id: UUID, population_id: UUID) -> dict[EntryKind, Head]:
    """Return the places and hashes of a job's RESERVED and SPENT entries in one ledger, which its certificate quotes.

    Raises:
        ReservationNotFound: the ledger lacks one of the two.
    """
    kinds = (EntryKind.RESERVED, EntryKind.SPENT)
    rows = session.execute(
        select(LedgerEntry.kind, LedgerEntry.sequence, LedgerEntry.hash).where(
            LedgerEntry.job_id == job_id,
            LedgerEntry.population_id == population_id,
            LedgerEntry.kind.in_([kind.value for kind in kinds]),
        )
    )
    found = {EntryKind(kind): Head(sequence=sequence, hash=link) for kind, sequence, link in rows}
    if set(found) != set(kinds):
        raise ReservationNotFound("The ledger has no reservation of this job that was spent.")
    return found


def unpaid(session: Session, job_ids: Collection[UUID], *, population_id: UUID) -> set[UUID]:
    """Return those of these jobs for which the population's ledger has no SPENT entry."""
    spent = select(LedgerEntry.job_id).where(
        LedgerEntry.population_id == population_id,
        LedgerEntry.job_id.in_(job_ids),
        LedgerEntry.kind == EntryKind.SPENT.value,
    )
    return set(job_ids) - {job_id for job_id in session.scalars(spent) if job_id is not None}


def entry_of(row: Any) -> Entry:  # noqa: ANN401 - a mapped row, or a tuple with the same names
    """Return the entry that a row holds."""
    movement = decision = None
    if row.job_id is not None:
        movement = movement_of(
            row.kind, row.job_id, row.epsilon_micros, row.delta_femtos, row.rdp_micros, row.grant_id
        )
    if row.terms is not None:
        decision = Decision(kind=DecisionKind(row.kind), terms=row.terms)
    return Entry(
        population_id=row.population_id,
        sequence=row.sequence,
        movement=movement,
        decision=decision,
        mechanism=row.mechanism,
        fence=row.fence,
        at=row.at,
        balance=None if row.balance is None else Balance.from_numbers(row.balance),
        grant_balance=None if row.grant_balance is None else Balance.from_numbers(row.grant_balance),
        previous_hash=row.previous_hash,
        hash=row.hash,
    )


def movement_of(
    kind: str,
    job_id: UUID | None,
    epsilon_micros: int,
    delta_femtos: int,
    rdp_micros: Sequence[int],
    grant_id: UUID | None,
) -> Movement:
    """Return the movement that the columns of a row hold."""
    assert job_id is not None, "a check constraint of the table"
    charge = Charge(epsilon_micros=epsilon_micros, delta_femtos=delta_femtos, rdp_micros=tuple(rdp_micros))
    return Movement(kind=EntryKind(kind), job_id=job_id, charge=charge, grant_id=grant_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursePoint:
    """The sums of a budget after one entry.

    Attributes:
        at: when the entry was written.
        spent_micros: epsilon spent after it, in millionths.
        reserved_micros: epsilon reserved after it, likewise.
    """

    at: datetime
    spent_micros: int
    reserved_micros: int


def courses_of(session: Session, population_ids: Collection[UUID]) -> Mapping[UUID, Sequence[CoursePoint]]:
    """Return how the sums of several populations developed, oldest first, in one statement.

    At most `COURSE_POINTS` entries of each ledger are read, evenly spaced up to its head, so the cost does not
    grow with the ledger.
    """
    place = func.generate_series(0, COURSE_POINTS - 1).table_valued("number").render_derived()
    spacing = (Budget.head_sequence + COURSE_POINTS - 1) // COURSE_POINTS
    points = (
        select(
            LedgerEntry.population_id,
            LedgerEntry.at,
            LedgerEntry.balance[SPENT_EPSILON],
            LedgerEntry.balance[RESERVED_EPSILON],
        )
        .select_from(Budget)
        .join(place, true())
        .join(
            LedgerEntry,
            (LedgerEntry.population_id == Budget.population_id)
            & (LedgerEntry.sequence == Budget.head_sequence - place.c.number * spacing),
        )
        .where(Budget.population_id.in_(population_ids), LedgerEntry.balance.is_not(None))
        .order_by(LedgerEntry.population_id, LedgerEntry.sequence)
    )
    found: dict[UUID, list[CoursePoint]] = {population_id: [] for population_id in population_ids}
    for population_id, at, spent_micros, reserved_micros in session.execute(points):
        found[population_id].append(
            CoursePoint(at=at, spent_micros=spent_micros, reserved_micros=reserved_micros)
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The sums of a budget after one movement.

    Attributes:
        at: when it was written.
        kind: what the entry did.
        job_id: whose reservation it moved; every movement has one.
        spent_micros: epsilon spent after it, in millionths; None in entries of the first release.
        reserved_micros: epsilon reserved after it, likewise.
    """

    sequence: int
    at: datetime
    kind: str
    job_id: UUID | None
    spent_micros: int | None
    reserved_micros: int | None


def newest_steps(session: Session, population_id: UUID, *, limit: int = NEWEST_STEPS) -> Sequence[Step]:
    """Return the newest movements of jobs with the sums after each, oldest first."""
    columns = (
        LedgerEntry.sequence,
        LedgerEntry.at,
        LedgerEntry.kind,
        LedgerEntry.job_id,
        # Two numbers of sixteen: reading a thousand whole balances takes longer than the rest of a page.
        LedgerEntry.balance[SPENT_EPSILON],
        LedgerEntry.balance[RESERVED_EPSILON],
    )
    rows = session.execute(
        select(*columns)
        .where(LedgerEntry.population_id == population_id, LedgerEntry.kind.in_(MOVEMENTS))
        .order_by(LedgerEntry.sequence.desc())
        .limit(limit)
    ).all()
    return [
        Step(
            sequence=sequence,
            at=at,
            kind=kind,
            job_id=job_id,
            spent_micros=spent_micros,
            reserved_micros=reserved_micros,
        )
        for sequence, at, kind, job_id, spent_micros, reserved_micros in reversed(rows)
    ]
