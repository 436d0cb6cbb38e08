"""All SQL of the ledger. Who appends holds the lock on the population's budget row."""

from collections.abc import Generator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, insert, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from core.db.tables.budget import Budget
from core.db.tables.grant import Grant
from core.db.tables.ledger_entry import LedgerEntry
from core.ledger.balance import EMPTY_BALANCE, Balance
from core.ledger.chain import Entry, Head
from core.ledger.decisions import Decision, DecisionKind, GrantState
from core.ledger.errors import GrantNotFound, PopulationNotFound, ReservationNotFound
from core.ledger.reservation import NOTHING, EntryKind, Movement
from core.privacy.charge import Charge

_MOVEMENT = (
    LedgerEntry.kind,
    LedgerEntry.job_id,
    LedgerEntry.epsilon_micros,
    LedgerEntry.delta_femtos,
    LedgerEntry.rdp_micros,
    LedgerEntry.grant_id,
)
_MOVES = LedgerEntry.kind.in_([kind.value for kind in EntryKind])
_COLUMNS = LedgerEntry.__table__.columns

# What every admission asks and writes, composed once: composing takes longer than running. Each statement is one more
# round trip under the lock, so the head moves in the statement that inserts.
_LOCK = (
    select(Budget)
    .where(Budget.population_id == bindparam("population_id"))
    .with_for_update()
    .execution_options(populate_existing=True)
)
_MOVEMENTS_OF_JOB = (
    select(*_MOVEMENT).where(LedgerEntry.job_id == bindparam("job_id")).order_by(LedgerEntry.sequence)
)
_ENTRY_AT = select(*_COLUMNS).where(
    LedgerEntry.population_id == bindparam("population_id"), LedgerEntry.sequence == bindparam("sequence")
)
_MOVE_HEAD = (
    update(Budget)
    .where(Budget.population_id == bindparam("new_population_id"))
    .values(head_sequence=bindparam("new_sequence"), head_hash=bindparam("new_hash"))
    .returning(Budget.head_sequence)
    .cte("moved")
)
_APPEND = (
    insert(LedgerEntry.__table__)  # type: ignore[arg-type]  # a mapped class's table is a Table
    .values({column.name: bindparam(f"new_{column.name}", type_=column.type) for column in _COLUMNS})
    .add_cte(_MOVE_HEAD)
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
    budget = session.scalar(_LOCK, {"population_id": population_id})
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
        select(*_MOVEMENT)
        .where(LedgerEntry.population_id == population_id, _MOVES)
        .order_by(LedgerEntry.sequence)
    )
    return [_movement(*row) for row in rows]


def movements_of_job(session: Session, job_id: UUID) -> list[Movement]:
    """What the fold reads of one job, in order."""
    rows = session.execute(_MOVEMENTS_OF_JOB, {"job_id": job_id})
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


def entry_at(session: Session, population_id: UUID, sequence: int) -> Entry | None:
    """One entry by its place, freshly read."""
    key = {"population_id": population_id, "sequence": sequence}
    row = session.execute(_ENTRY_AT, key).one_or_none()
    return None if row is None else _entry(row)


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


def head_of(budget: Budget) -> Head:
    """The head noted on the budget's row."""
    return Head(sequence=budget.head_sequence, hash=budget.head_hash)


def append(session: Session, budget: Budget, entry: Entry) -> None:
    """Write an entry and move the head to it; `budget` is the row from `lock_budget`."""
    movement, decision = entry.movement, entry.decision
    charge = NOTHING if movement is None else movement.charge
    session.execute(
        _APPEND,
        {
            "new_population_id": entry.population_id,
            "new_sequence": entry.sequence,
            "new_kind": entry.kind,
            "new_job_id": None if movement is None else movement.job_id,
            "new_grant_id": None if movement is None else movement.grant_id,
            "new_epsilon_micros": charge.epsilon_micros,
            "new_delta_femtos": charge.delta_femtos,
            "new_rdp_micros": list(charge.rdp_micros),
            "new_mechanism": entry.mechanism,
            "new_terms": None if decision is None else decision.terms,
            "new_fence": entry.fence,
            "new_at": entry.at,
            "new_balance": None if entry.balance is None else entry.balance.to_numbers(),
            "new_grant_balance": None if entry.grant_balance is None else entry.grant_balance.to_numbers(),
            "new_previous_hash": entry.previous_hash,
            "new_hash": entry.hash,
        },
    )
    set_committed_value(budget, "head_sequence", entry.sequence)
    set_committed_value(budget, "head_hash", entry.hash)


def _movement(
    kind: str,
    job_id: UUID | None,
    epsilon_micros: int,
    delta_femtos: int,
    rdp_micros: Sequence[int],
    grant_id: UUID | None,
) -> Movement:
    assert job_id is not None, "a check constraint of the table"
    charge = Charge(epsilon_micros=epsilon_micros, delta_femtos=delta_femtos, rdp_micros=tuple(rdp_micros))
    return Movement(kind=EntryKind(kind), job_id=job_id, charge=charge, grant_id=grant_id)


def _entry(row: LedgerEntry | Row[Any]) -> Entry:
    movement = decision = None
    if row.job_id is not None:
        movement = _movement(
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
