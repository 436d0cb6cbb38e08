"""The ledger of jobs: reserve, spend, settle and void, each under the lock of the population's budget row.

A job over datasets of several owners has one reservation in each of their ledgers. Every function moves all of them or
none: it locks the ledgers in the order of their populations' ids, checks every one, and only then appends.

Every function works inside the caller's transaction: what it appended exists once that transaction commits, and never
otherwise. Callers that hold a job's row lock take it before the budget's, so there is no deadlock. What people decide
(caps, grants, freezes) is in `core.ledger.governance`; what is read without a lock is in `core.ledger.ledger_queries`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.dp.charge import Charge
from core.dp.filters import Admission
from core.ledger import budget_lock, repository
from core.ledger.admission import require_room
from core.ledger.budget_lock import Balances, LockedBudget, append_movement, current_balances
from core.ledger.entries import GrantState
from core.ledger.errors import (
    AlreadyReserved,
    BudgetNotSet,
    GrantClosed,
    GrantNotFound,
    GrantRefused,
    OwnerWithdrew,
    PopulationFrozen,
)
from core.ledger.reservation import NOTHING, Balance, EntryKind, Movement, Reservation, bounded, fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """One ledger that a job is reserved in.

    Attributes:
        population_id: whose budget.
        grant_id: the grant that the job draws on besides the cap; None draws on the cap alone (one person's own ledger).
    """

    population_id: UUID
    grant_id: UUID | None


def reserve(
    session: Session,
    *,
    population_id: UUID,
    job_id: UUID,
    charge: Charge,
    mechanism_json: dict[str, Any],
    grant_id: UUID | None,
    clock: Clock,
) -> Admission:
    """Reserve the charge of a plan for a job on one dataset; see `reserve_all`."""
    payer = Payer(population_id=population_id, grant_id=grant_id)
    admissions = reserve_all(
        session, [payer], job_id=job_id, charge=charge, mechanism_json=mechanism_json, clock=clock
    )
    return admissions[population_id]


def reserve_all(
    session: Session,
    payers: Sequence[Payer],
    *,
    job_id: UUID,
    charge: Charge,
    mechanism_json: dict[str, Any],
    clock: Clock,
) -> dict[UUID, Admission]:
    """Reserve the charge of a plan in every payer's ledger, or refuse. Nothing is charged in any other way.

    Args:
        payers: the ledgers, of different populations; each is charged the whole plan.
        clock: stamps the entries and decides whether a grant has expired.

    Returns:
        What is admitted, by population.

    Raises:
        PopulationNotFound: no such population.
        PopulationFrozen: a population is frozen.
        BudgetNotSet: a population has no cap yet.
        AlreadyReserved: the job has a reservation.
        GrantNotFound, GrantClosed, GrantRefused: a grant belongs to another population, has ended, or is too small.
        BudgetRefused: no filter of a ledger holds with this charge added to everything spent and reserved.
        LedgerBroken: the last entry of a ledger does not verify.
    """
    ordered = sorted(payers, key=lambda payer: payer.population_id)
    # All locks come before the first entry: an entry of this job would look like an earlier reservation.
    locked = [(payer, budget_lock.lock(session, payer.population_id, job_id=job_id)) for payer in ordered]
    admitted = [_admitted(session, payer, budget, charge, at=clock.now()) for payer, budget in locked]
    for (payer, budget), (balances, _) in zip(locked, admitted, strict=True):
        movement = Movement(kind=EntryKind.RESERVED, job_id=job_id, charge=charge, grant_id=payer.grant_id)
        append_movement(session, budget, balances, None, movement, mechanism=mechanism_json, clock=clock)
    return {
        budget.population_id: admission for (_, budget), (_, admission) in zip(locked, admitted, strict=True)
    }


def spend(session: Session, job_id: UUID, *, fence: int, clock: Clock) -> bool:
    """Turn the job's reservations into spends, once, before its private rows are opened.

    Returns:
        Whether this call spent; False if an earlier claim of the same job already had.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: a reservation was voided or settled, or some are spent and others are not.
        PopulationFrozen: the charge is only reserved, and a population is frozen. Nothing was spent.
        OwnerWithdrew: the charge is only reserved in several ledgers, and one of them is frozen or its grant was revoked.
            Nothing was spent.
    """
    locked = _locked(session, job_id)
    if all(reservation.state is EntryKind.SPENT for _, reservation in locked):
        return False
    moves = list(_moves(locked, EntryKind.SPENT))
    if len(locked) > 1 and any(_withdrawn(session, budget, reservation) for budget, reservation in locked):
        raise OwnerWithdrew
    if any(budget.frozen_at is not None for budget, _ in locked):
        raise PopulationFrozen
    for budget, reservation, movement in moves:
        _move(session, budget, reservation, movement, fence=fence, clock=clock)
    return True


def settle(session: Session, job_id: UUID, *, charge: Charge, clock: Clock) -> Charge:
    """Charge a spent job for its executed prefix only, never above what was reserved. Returns the charge of each ledger.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: a reservation is not spent, or is already settled.
    """
    locked = _locked(session, job_id)
    # Every ledger reserved the same plan.
    charged = bounded(charge, by=locked[0][1].reserved)
    for budget, reservation, movement in list(_moves(locked, EntryKind.SETTLED, charge=charged)):
        _move(session, budget, reservation, movement, clock=clock)
    return charged


def void(session: Session, job_id: UUID, *, clock: Clock) -> None:
    """Give back the reservations of a job that no worker has claimed.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: a reservation is spent, voided or settled.
    """
    for budget, reservation, movement in list(
        _moves(_locked(session, job_id), EntryKind.VOIDED, charge=NOTHING)
    ):
        _move(session, budget, reservation, movement, clock=clock)


def _admitted(
    session: Session, payer: Payer, budget: LockedBudget, charge: Charge, *, at: datetime
) -> tuple[Balances, Admission]:
    """The balances of a locked ledger that has room for a charge, and what it admits; nothing is appended."""
    if budget.frozen_at is not None:
        raise PopulationFrozen
    cap = repository.cap_on(budget)
    if cap is None:
        raise BudgetNotSet(
            "No budget has been set for this dataset, so nothing may be spent.",
            remedy="Ask an admin to set one.",
        )
    if budget.job_is_known:
        raise AlreadyReserved(
            "This job has a reservation already.", remedy="Place a new order under a new id."
        )
    balances = current_balances(session, budget, grant_id=payer.grant_id)
    admission = require_room(cap, balances.population.in_force, charge)
    if payer.grant_id is not None and balances.grant is not None:
        _require_grant(session, budget, payer.grant_id, balances.grant, charge, at=at)
    return balances, admission


def _withdrawn(session: Session, budget: LockedBudget, reservation: Reservation) -> bool:
    """Whether an owner took back its part in a job over several ledgers: by freezing its own, or by revoking the grant."""
    if budget.frozen_at is not None or reservation.grant_id is None:
        return budget.frozen_at is not None
    return repository.grant_of(session, reservation.grant_id).state == GrantState.REVOKED.value


def _require_grant(
    session: Session, budget: LockedBudget, grant_id: UUID, drawn: Balance, charge: Charge, *, at: datetime
) -> None:
    row = repository.grant_of(session, grant_id)
    if row.population_id != budget.population_id:
        raise GrantNotFound
    if row.state != GrantState.OPEN.value or at >= row.expires_at:
        raise GrantClosed
    require_room(
        repository.grant_cap(row, budget),
        drawn.in_force,
        charge,
        refusal=GrantRefused,
        payer="your grant",
        within=repository.cap_on(budget),
        remedy="Order with a smaller epsilon or delta, or ask for more: `understudy budget request`, or the dataset's page.",
    )


def _locked(session: Session, job_id: UUID) -> list[tuple[LockedBudget, Reservation]]:
    """The job's ledgers, all locked, each with its reservation; in the order of their populations' ids."""
    budgets = [
        budget_lock.lock(session, population_id)
        for population_id in repository.populations_of_job(session, job_id)
    ]
    movements = repository.movements_of_job(session, job_id)
    return [(budget, fold(movements[budget.population_id])) for budget in budgets]


def _moves(
    locked: Sequence[tuple[LockedBudget, Reservation]], kind: EntryKind, *, charge: Charge | None = None
) -> Iterator[tuple[LockedBudget, Reservation, Movement]]:
    """The next movement of every reservation, checked; None charges what was reserved.

    Raises:
        IllegalFold: a reservation may not move so.
    """
    for budget, reservation in locked:
        movement = _movement(reservation, kind, reservation.reserved if charge is None else charge)
        reservation.after(movement)
        yield budget, reservation, movement


def _move(
    session: Session,
    budget: LockedBudget,
    reservation: Reservation,
    movement: Movement,
    *,
    clock: Clock,
    fence: int | None = None,
) -> None:
    balances = current_balances(session, budget, grant_id=reservation.grant_id)
    append_movement(session, budget, balances, reservation, movement, fence=fence, clock=clock)


def _movement(reservation: Reservation, kind: EntryKind, charge: Charge) -> Movement:
    return Movement(kind=kind, job_id=reservation.job_id, charge=charge, grant_id=reservation.grant_id)
