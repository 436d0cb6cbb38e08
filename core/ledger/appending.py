"""Putting one entry at the end of a chain. The caller holds the lock on the budget's row."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.ledger import repository, turnstile
from core.ledger.balance import EMPTY_BALANCE, Balance, balance_of
from core.ledger.chain import hash_of, link
from core.ledger.decisions import Decision
from core.ledger.errors import LedgerBroken
from core.ledger.reservation import Movement, Reservation, fold, fold_all
from core.ledger.turnstile import LockedBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What counts before an entry is appended.

    Args:
        population: against the cap.
        grant: against the grant in question; None without one.
    """

    population: Balance
    grant: Balance | None = None

    def after(self, before: Reservation | None, now: Reservation) -> "Standing":
        """The standing once one reservation has moved from `before` to `now`."""
        grant = None if self.grant is None else self.grant.after(before, now)
        return Standing(population=self.population.after(before, now), grant=grant)


def standing(session: Session, budget: LockedBudget, *, grant_id: UUID | None = None) -> Standing:
    """What counts now, from the last entry alone, once that entry has been verified.

    An entry of the first release carries no totals; then everything is folded, this once.

    Raises:
        LedgerBroken: the last entry is not what was written.
    """
    grant = None if grant_id is None else repository.grant_balance(session, grant_id)
    if budget.head_sequence == 0:
        return Standing(population=EMPTY_BALANCE, grant=grant)
    last = budget.last
    if last is None or last.hash != budget.head_hash or hash_of(last) != last.hash:
        raise LedgerBroken
    return Standing(population=last.balance or _folded(session, budget.population_id), grant=grant)


def append_movement(
    session: Session,
    budget: LockedBudget,
    standing: Standing,
    before: Reservation | None,
    movement: Movement,
    *,
    clock: Clock,
    mechanism: dict[str, Any] | None = None,
    fence: int | None = None,
) -> None:
    """Append what happens to a reservation; `standing` is of the population and the movement's grant before it.

    Raises:
        IllegalFold: it may not follow `before`, where the reservation stood.
    """
    now = fold([movement]) if before is None else before.after(movement)
    after = standing.after(before, now)
    entry = link(
        repository.head_of(budget),
        population_id=budget.population_id,
        content=movement,
        at=clock.now(),
        balance=after.population,
        grant_balance=after.grant,
        mechanism=mechanism,
        fence=fence,
    )
    turnstile.append(session, entry)


def append_decision(session: Session, budget: LockedBudget, decision: Decision, *, clock: Clock) -> None:
    """Append what a person decided.

    Raises:
        LedgerBroken: the last entry is not what was written.
    """
    entry = link(
        repository.head_of(budget),
        population_id=budget.population_id,
        content=decision,
        at=clock.now(),
        balance=standing(session, budget).population,
    )
    turnstile.append(session, entry)


def _folded(session: Session, population_id: UUID) -> Balance:
    return balance_of(fold_all(repository.movements(session, population_id)).values())
