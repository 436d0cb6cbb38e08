"""The SQL of the ledger, but for what is done under the lock (`core.ledger.turnstile`) and for certificates (`core.ledger.evidence`)."""

from collections.abc import Collection, Generator, Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from core.db.tables.budget import Budget
from core.db.tables.grant import Grant
from core.db.tables.ledger_entry import LedgerEntry
from core.ledger.balance import EMPTY_BALANCE, Balance
from core.ledger.chain import Entry, Head
from core.ledger.decisions import DecisionKind, GrantState
from core.ledger.errors import GrantNotFound, PopulationNotFound, ReservationNotFound
from core.ledger.reservation import EntryKind, Movement
from core.ledger.turnstile import entry_of, movement_of

_MOVEMENT = (
    LedgerEntry.kind,
    LedgerEntry.job_id,
    LedgerEntry.epsilon_micros,
    LedgerEntry.delta_femtos,
    LedgerEntry.rdp_micros,
    LedgerEntry.grant_id,
)
_MOVES = LedgerEntry.kind.in_([kind.value for kind in EntryKind])
# Composed once: claims and settlements ask this under the lock.
_MOVEMENTS_OF_JOB = (
    select(*_MOVEMENT).where(LedgerEntry.job_id == bindparam("job_id")).order_by(LedgerEntry.sequence)
)


class BudgetRow(Protocol):
    """What a budget's row says, mapped or as plain columns."""

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


def set_cap(session: Session, population_id: UUID, *, epsilon: float, delta: float) -> None:
    """Write the cap on the budget's row, locked by the caller."""
    _write(session, population_id, {"epsilon_cap": epsilon, "delta_cap": delta})


def set_frozen(session: Session, population_id: UUID, *, frozen_at: datetime | None) -> None:
    """Write whether it is frozen on the budget's row, locked by the caller."""
    _write(session, population_id, {"frozen_at": frozen_at})


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
        select(*_MOVEMENT)
        .where(LedgerEntry.population_id == population_id, _MOVES)
        .order_by(LedgerEntry.sequence)
    )
    return [movement_of(*row) for row in rows]


def movements_of_job(session: Session, job_id: UUID) -> list[Movement]:
    """What the fold reads of one job, in order."""
    rows = session.execute(_MOVEMENTS_OF_JOB, {"job_id": job_id})
    return [movement_of(*row) for row in rows]


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
            yield entry_of(row)
    finally:
        rows.close()


def links_at(session: Session, population_id: UUID, sequences: Collection[int]) -> set[Head]:
    """The links that a chain has at these places; none where it has not got that far."""
    rows = session.execute(
        select(LedgerEntry.sequence, LedgerEntry.hash).where(
            LedgerEntry.population_id == population_id, LedgerEntry.sequence.in_(sequences)
        )
    )
    return {Head(sequence=sequence, hash=link) for sequence, link in rows}


def has_decided_since(session: Session, population_id: UUID, *, sequence: int) -> bool:
    """Whether a person decided something after this place in the chain."""
    later = select(LedgerEntry.sequence).where(
        LedgerEntry.population_id == population_id,
        LedgerEntry.sequence > sequence,
        LedgerEntry.terms.is_not(None),
    )
    return session.scalar(select(later.exists())) or False


def last_balance(session: Session, population_id: UUID) -> Balance | None:
    """The totals at the head, read in one statement, so without a lock too; None where the head carries none."""
    numbers = session.scalar(
        select(LedgerEntry.balance)
        .join(Budget, Budget.population_id == LedgerEntry.population_id)
        .where(Budget.population_id == population_id, LedgerEntry.sequence == Budget.head_sequence)
    )
    return None if numbers is None else Balance.from_numbers(numbers)


def grant_balance(session: Session, grant_id: UUID) -> Balance:
    """The totals of a grant after the last entry that drew on it."""
    numbers = session.scalar(
        select(LedgerEntry.grant_balance)
        .where(LedgerEntry.grant_id == grant_id)
        .order_by(LedgerEntry.sequence.desc())
        .limit(1)
    )
    return EMPTY_BALANCE if numbers is None else Balance.from_numbers(numbers)


def grants(session: Session, population_id: UUID) -> Sequence[Grant]:
    """All grants of a population, oldest first."""
    return session.scalars(
        select(Grant).where(Grant.population_id == population_id).order_by(Grant.created_at, Grant.id)
    ).all()


def open_grants(session: Session, population_id: UUID, *, holder: UUID, at: datetime) -> Sequence[Grant]:
    """The grants that a holder may draw on at a moment, the one that ends first in front."""
    return session.scalars(
        select(Grant)
        .where(
            Grant.population_id == population_id,
            Grant.holder_id == holder,
            Grant.state == GrantState.OPEN.value,
            Grant.expires_at > at,
        )
        .order_by(Grant.expires_at, Grant.id)
    ).all()


def grant_of(session: Session, grant_id: UUID) -> Grant:
    """A grant, freshly read.

    Raises:
        GrantNotFound: there is none.
    """
    grant = session.get(Grant, grant_id, populate_existing=True)
    if grant is None:
        raise GrantNotFound
    return grant


def frozen_in_chain(session: Session, population_id: UUID) -> bool:
    """Whether the last word of the chain on freezing is that it is frozen."""
    kind = session.scalar(
        select(LedgerEntry.kind)
        .where(
            LedgerEntry.population_id == population_id,
            LedgerEntry.kind.in_((DecisionKind.FROZEN.value, DecisionKind.UNFROZEN.value)),
        )
        .order_by(LedgerEntry.sequence.desc())
        .limit(1)
    )
    return kind == DecisionKind.FROZEN.value


def add_grant(session: Session, grant: Grant) -> None:
    """Insert a grant."""
    session.add(grant)
    session.flush()


def head_of(budget: BudgetRow) -> Head:
    """The head noted on the budget's row."""
    return Head(sequence=budget.head_sequence, hash=budget.head_hash)


def _write(session: Session, population_id: UUID, columns: dict[str, Any]) -> None:
    session.execute(update(Budget).where(Budget.population_id == population_id).values(columns))
