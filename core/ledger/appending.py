"""Putting one entry at the end of a chain. The caller holds the lock on the budget's row."""

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.budget import Budget
from core.ledger import repository
from core.ledger.balance import EMPTY_BALANCE, Balance, balance_of
from core.ledger.chain import hash_of, link
from core.ledger.decisions import Decision
from core.ledger.errors import LedgerBroken
from core.ledger.reservation import Movement, Reservation, fold, fold_all


def standing(session: Session, budget: Budget) -> Balance:
    """What counts against the cap now, from the last entry alone, once that entry has been verified.

    An entry of the first release carries no totals; then everything is folded, this once.

    Raises:
        LedgerBroken: the last entry is not what was written.
    """
    if budget.head_sequence == 0:
        return EMPTY_BALANCE
    last = repository.entry_at(session, budget.population_id, budget.head_sequence)
    if last is None or last.hash != budget.head_hash or hash_of(last) != last.hash:
        raise LedgerBroken
    return last.balance or _folded(session, budget.population_id)


def append_movement(
    session: Session,
    budget: Budget,
    before: Reservation | None,
    movement: Movement,
    *,
    clock: Clock,
    mechanism: dict[str, Any] | None = None,
    fence: int | None = None,
) -> None:
    """Append what happens to a reservation; `before` is where it stood.

    Raises:
        IllegalFold: it may not follow.
        LedgerBroken: the last entry is not what was written.
    """
    now = fold([movement]) if before is None else before.after(movement)
    drawn = None
    if movement.grant_id is not None:
        drawn = repository.grant_balance(session, movement.grant_id).after(before, now)
    entry = link(
        repository.head_of(budget),
        population_id=budget.population_id,
        content=movement,
        at=clock.now(),
        balance=standing(session, budget).after(before, now),
        grant_balance=drawn,
        mechanism=mechanism,
        fence=fence,
    )
    repository.append(session, budget, entry)


def append_decision(session: Session, budget: Budget, decision: Decision, *, clock: Clock) -> None:
    """Append what a person decided.

    Raises:
        LedgerBroken: the last entry is not what was written.
    """
    entry = link(
        repository.head_of(budget),
        population_id=budget.population_id,
        content=decision,
        at=clock.now(),
        balance=standing(session, budget),
    )
    repository.append(session, budget, entry)


def _folded(session: Session, population_id: UUID) -> Balance:
    return balance_of(fold_all(repository.movements(session, population_id)).values())
