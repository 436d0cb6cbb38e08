"""All SQL of the ledger. Who appends holds the lock on the population's budget row."""

from collections.abc import Generator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.tables.budget import Budget
from core.db.tables.ledger_entry import LedgerEntry
from core.ledger.chain import Entry, Head
from core.ledger.errors import PopulationNotFound, ReservationNotFound
from core.ledger.reservation import EntryKind, Movement
from core.privacy.charge import Charge

_MOVEMENT = (
    LedgerEntry.kind,
    LedgerEntry.job_id,
    LedgerEntry.epsilon_micros,
    LedgerEntry.delta_femtos,
    LedgerEntry.rdp_micros,
)


def add_budget(session: Session, budget: Budget) -> None:
    """Insert the budget of a new population."""
    session.add(budget)
    session.flush()


def budget_of(session: Session, population_id: UUID) -> Budget:
    """The budget without a lock, for reading only.

    Raises:
        PopulationNotFound: there is none.
    """
    budget = session.get(Budget, population_id, populate_existing=True)
    if budget is None:
        raise PopulationNotFound("No budget is kept for this population.")
    return budget


def lock_budget(session: Session, population_id: UUID) -> Budget:
    """The budget, freshly read, with its row locked until the transaction ends: the turnstile of all appends.

    Raises:
        PopulationNotFound: there is none.
    """
    budget = session.get(Budget, population_id, populate_existing=True, with_for_update=True)
    if budget is None:
        raise PopulationNotFound("No budget is kept for this population.")
    return budget


def population_of_job(session: Session, job_id: UUID) -> UUID:
    """The population whose ledger has the job's reservation.

    Raises:
        ReservationNotFound: no ledger has one.
    """
    population_id = session.scalar(
        select(LedgerEntry.population_id).where(
            LedgerEntry.job_id == job_id, LedgerEntry.kind == EntryKind.RESERVED.value
        )
    )
    if population_id is None:
        raise ReservationNotFound("The ledger has no reservation of this job.")
    return population_id


def movements(session: Session, population_id: UUID) -> list[Movement]:
    """What the fold reads of a population, in order."""
    rows = session.execute(
        select(*_MOVEMENT).where(LedgerEntry.population_id == population_id).order_by(LedgerEntry.sequence)
    )
    return [_movement(*row) for row in rows]


def movements_of_job(session: Session, job_id: UUID) -> list[Movement]:
    """What the fold reads of one job, in order."""
    rows = session.execute(
        select(*_MOVEMENT).where(LedgerEntry.job_id == job_id).order_by(LedgerEntry.sequence)
    )
    return [_movement(*row) for row in rows]


def mechanism_of_job(session: Session, job_id: UUID) -> dict[str, Any]:
    """The mechanism that was reserved, as JSON; empty where there is no reservation."""
    found = session.scalar(
        select(LedgerEntry.mechanism).where(
            LedgerEntry.job_id == job_id, LedgerEntry.kind == EntryKind.RESERVED.value
        )
    )
    return found or {}


def entries(session: Session, population_id: UUID, *, batch_rows: int = 500) -> Generator[Entry, None, None]:
    """Whole entries in order, a batch at a time: a long ledger is never in memory at once. Close it if you stop early."""
    rows = session.scalars(
        select(LedgerEntry)
        .where(LedgerEntry.population_id == population_id)
        .order_by(LedgerEntry.sequence)
        .execution_options(yield_per=batch_rows, populate_existing=True)
    )
    try:
        for row in rows:
            yield _entry(row)
    finally:
        rows.close()


def head_of(budget: Budget) -> Head:
    """The head noted on the budget's row."""
    return Head(sequence=budget.head_sequence, hash=budget.head_hash)


def append(session: Session, budget: Budget, entry: Entry) -> None:
    """Write an entry and move the head to it; `budget` is the row from `lock_budget`."""
    charge = entry.movement.charge
    session.add(
        LedgerEntry(
            population_id=entry.population_id,
            sequence=entry.sequence,
            kind=entry.movement.kind.value,
            job_id=entry.movement.job_id,
            epsilon_micros=charge.epsilon_micros,
            delta_femtos=charge.delta_femtos,
            rdp_micros=list(charge.rdp_micros),
            mechanism=entry.mechanism,
            fence=entry.fence,
            at=entry.at,
            previous_hash=entry.previous_hash,
            hash=entry.hash,
        )
    )
    budget.head_sequence = entry.sequence
    budget.head_hash = entry.hash
    session.flush()


def _movement(
    kind: str, job_id: UUID, epsilon_micros: int, delta_femtos: int, rdp_micros: Sequence[int]
) -> Movement:
    charge = Charge(epsilon_micros=epsilon_micros, delta_femtos=delta_femtos, rdp_micros=tuple(rdp_micros))
    return Movement(kind=EntryKind(kind), job_id=job_id, charge=charge)


def _entry(row: LedgerEntry) -> Entry:
    return Entry(
        population_id=row.population_id,
        sequence=row.sequence,
        movement=_movement(row.kind, row.job_id, row.epsilon_micros, row.delta_femtos, row.rdp_micros),
        mechanism=row.mechanism,
        fence=row.fence,
        at=row.at,
        previous_hash=row.previous_hash,
        hash=row.hash,
    )
