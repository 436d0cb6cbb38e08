"""The budget lock: every append locks the budget's row, reads the entry at its head, and appends the next one.

Every order does this under the lock, so it takes as few round trips as possible: one statement locks and reads, one
inserts and moves the head. Both are composed once and run on the connection with plain columns, which costs Python less
than mapped objects; `make bench-reservations` measures the whole.
"""

from collections import namedtuple
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import and_, bindparam, exists, insert, select, update
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.budget import Budget
from core.db.tables.ledger_entry import LedgerEntry
from core.ledger import repository
from core.ledger.entries import LEDGER_CHAIN, Decision, Entry, next_entry
from core.ledger.errors import LedgerBroken, PopulationNotFound
from core.ledger.reservation import (
    EMPTY_BALANCE,
    NOTHING,
    Balance,
    Movement,
    Reservation,
    balance_of,
    fold,
    fold_all,
)

_BUDGET: Final = [
    Budget.__table__.columns[name]
    for name in (
        "population_id",
        "epsilon_cap",
        "delta_cap",
        "rule",
        "frozen_at",
        "head_sequence",
        "head_hash",
    )
]
_ENTRY: Final = list(LedgerEntry.__table__.columns)
_EntryRow = namedtuple("_EntryRow", [column.name for column in _ENTRY])  # type: ignore[misc]  # noqa: PYI024 - the names are the table's

# The first part locks the row, so the second joins the head as it is once the lock is held. If another transaction appended
# while this one waited, the entry at that head is newer than the statement's snapshot; `_LAST` then reads again.
_locked = (
    select(*_BUDGET).where(Budget.population_id == bindparam("population_id")).with_for_update().cte("locked")
)
_known = exists().where(LedgerEntry.job_id == bindparam("job_id"))
_LOCK: Final = select(*_locked.columns, _known, *_ENTRY).select_from(
    _locked.outerjoin(
        LedgerEntry.__table__,
        and_(
            LedgerEntry.population_id == _locked.columns.population_id,
            LedgerEntry.sequence == _locked.columns.head_sequence,
        ),
    )
)
_LAST: Final = select(_known, *_ENTRY).where(
    LedgerEntry.population_id == bindparam("population_id"), LedgerEntry.sequence == bindparam("sequence")
)
_MOVE_HEAD = (
    update(Budget)
    .where(Budget.population_id == bindparam("new_population_id"))
    .values(head_sequence=bindparam("new_sequence"), head_hash=bindparam("new_hash"))
    .returning(Budget.head_sequence)
    .cte("moved")
)
_APPEND: Final = (
    insert(LedgerEntry.__table__)  # type: ignore[arg-type]  # a mapped class's table is a Table
    .values({column.name: bindparam(f"new_{column.name}", type_=column.type) for column in _ENTRY})
    .add_cte(_MOVE_HEAD)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedBudget:
    """A budget whose row no other transaction can lock until this one ends.

    Attributes:
        epsilon_cap: of everything together; None before a cap is set.
        delta_cap: likewise.
        frozen_at: since when nothing is reserved or spent; None if it is not frozen.
        head_sequence: how many entries there are.
        head_hash: the hash of the last.
        last: the entry at the head; None if there is none or it is missing.
        job_is_known: whether any ledger has an entry of the job that was asked for.
    """

    population_id: UUID
    epsilon_cap: float | None
    delta_cap: float | None
    rule: str
    frozen_at: datetime | None
    head_sequence: int
    head_hash: bytes
    last: Entry | None
    job_is_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Balances:
    """What counts before an entry is appended.

    Attributes:
        population: against the cap.
        grant: against the grant in question; None without one.
    """

    population: Balance
    grant: Balance | None = None


def lock(session: Session, population_id: UUID, *, job_id: UUID | None = None) -> LockedBudget:
    """Wait for the lock on the budget's row and hold it until the transaction ends. What is returned is current.

    Args:
        job_id: the job to look for in the ledgers, if any.

    Raises:
        PopulationNotFound: the population has no budget.
    """
    connection = session.connection()
    asked = {"population_id": population_id, "job_id": job_id}
    row = connection.execute(_LOCK, asked).one_or_none()
    if row is None:
        raise PopulationNotFound("No budget is kept for this population.")
    budget, (known, *last) = row[: len(_BUDGET)], row[len(_BUDGET) :]
    _, epsilon_cap, delta_cap, rule, frozen_at, head_sequence, head_hash = budget
    if last[0] is None and head_sequence > 0:
        again = connection.execute(_LAST, asked | {"sequence": head_sequence}).one_or_none()
        known, *last = again or (known, *last)
    return LockedBudget(
        population_id=population_id,
        epsilon_cap=epsilon_cap,
        delta_cap=delta_cap,
        rule=rule,
        frozen_at=frozen_at,
        head_sequence=head_sequence,
        head_hash=head_hash,
        last=None if last[0] is None else repository.entry_of(_EntryRow(*last)),
        job_is_known=known,
    )


def current_balances(session: Session, budget: LockedBudget, *, grant_id: UUID | None = None) -> Balances:
    """Return what counts now, from the last entry alone, once that entry has been verified.

    An entry of the first release carries no balance; then everything is folded, this once.

    Raises:
        LedgerBroken: the last entry is not what was written.
    """
    grant = None if grant_id is None else repository.grant_balance(session, grant_id)
    if budget.head_sequence == 0:
        return Balances(population=EMPTY_BALANCE, grant=grant)
    last = budget.last
    if last is None or last.hash != budget.head_hash or LEDGER_CHAIN.hash_of(last) != last.hash:
        raise LedgerBroken
    if last.balance is not None:
        return Balances(population=last.balance, grant=grant)
    reservations = fold_all(repository.movements(session, budget.population_id))
    return Balances(population=balance_of(reservations.values()), grant=grant)


def append_movement(
    session: Session,
    budget: LockedBudget,
    balances: Balances,
    before: Reservation | None,
    movement: Movement,
    *,
    clock: Clock,
    mechanism: dict[str, Any] | None = None,
    fence: int | None = None,
) -> None:
    """Append a movement of a reservation.

    Args:
        session: the open transaction, which holds the lock.
        balances: of the population and of the movement's grant, before the movement.
        before: the reservation before the movement; None if the movement opens it.
        mechanism: what is reserved.
        fence: the number of the claim that spends.

    Raises:
        IllegalFold: the movement may not follow `before`.
    """
    now = fold([movement]) if before is None else before.after(movement)
    entry = next_entry(
        repository.head_of(budget),
        population_id=budget.population_id,
        content=movement,
        at=clock.now(),
        balance=balances.population.after(before, now),
        grant_balance=None if balances.grant is None else balances.grant.after(before, now),
        mechanism=mechanism,
        fence=fence,
    )
    append(session, entry)


def append_decision(session: Session, budget: LockedBudget, decision: Decision, *, clock: Clock) -> None:
    """Append a person's decision. The caller holds the lock.

    Raises:
        LedgerBroken: the last entry is not what was written.
    """
    entry = next_entry(
        repository.head_of(budget),
        population_id=budget.population_id,
        content=decision,
        at=clock.now(),
        balance=current_balances(session, budget).population,
    )
    append(session, entry)


def append(session: Session, entry: Entry) -> None:
    """Write an entry and move the head to it. The caller holds the lock."""
    movement, decision = entry.movement, entry.decision
    charge = NOTHING if movement is None else movement.charge
    session.connection().execute(
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
