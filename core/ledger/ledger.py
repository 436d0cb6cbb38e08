"""The ledger of jobs: reserve, spend, settle and void, each under the lock of the population's budget row.

Every function works inside the caller's transaction: what it appended exists once that transaction commits, and never
otherwise. Callers that hold a job's row lock take it before the budget's, so there is no deadlock. What people decide
(caps, grants, freezes) is in `core.ledger.governance`; what is read without a lock is in `core.ledger.ledger_queries`.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.dp.charge import Charge
from core.dp.filters import Admission
from core.ledger import budget_lock, repository
from core.ledger.admission import require_room
from core.ledger.budget_lock import LockedBudget, append_movement, current_balances
from core.ledger.entries import GrantState
from core.ledger.errors import (
    AlreadyReserved,
    BudgetNotSet,
    GrantClosed,
    GrantNotFound,
    GrantRefused,
    PopulationFrozen,
)
from core.ledger.reservation import NOTHING, Balance, EntryKind, Movement, Reservation, bounded, fold


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
    """Reserve the charge of a plan for a job, or refuse. Nothing is charged in any other way.

    Args:
        session: the open transaction.
        population_id: whose budget.
        job_id: the job that the charge is reserved for.
        charge: of the whole plan.
        mechanism_json: what will run.
        grant_id: the grant that the job draws on besides the cap; None draws on the cap alone (one person's own ledger).
        clock: stamps the entry and decides whether the grant has expired.

    Raises:
        PopulationNotFound: no such population.
        PopulationFrozen: the population is frozen.
        BudgetNotSet: the population has no cap yet.
        AlreadyReserved: the job has a reservation.
        GrantNotFound, GrantClosed, GrantRefused: the grant belongs to another population, has ended, or is too small.
        BudgetRefused: no filter holds with this charge added to everything spent and reserved.
        LedgerBroken: the last entry does not verify.
    """
    budget = budget_lock.lock(session, population_id, job_id=job_id)
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
    balances = current_balances(session, budget, grant_id=grant_id)
    admission = require_room(cap, balances.population.in_force, charge)
    if grant_id is not None and balances.grant is not None:
        _require_grant(session, budget, grant_id, balances.grant, charge, at=clock.now())
    movement = Movement(kind=EntryKind.RESERVED, job_id=job_id, charge=charge, grant_id=grant_id)
    append_movement(session, budget, balances, None, movement, mechanism=mechanism_json, clock=clock)
    return admission


def spend(session: Session, job_id: UUID, *, fence: int, clock: Clock) -> bool:
    """Turn the job's reservation into a spend, once, before its private rows are opened.

    Returns:
        Whether this call spent; False if an earlier claim of the same job already had.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: the reservation was voided or settled.
        PopulationFrozen: the charge is only reserved, and the population is frozen.
    """
    budget, reservation = _locked(session, job_id)
    if reservation.state is EntryKind.SPENT:
        return False
    movement = _movement(reservation, EntryKind.SPENT, reservation.reserved)
    reservation.after(movement)
    if budget.frozen_at is not None:
        raise PopulationFrozen
    _move(session, budget, reservation, movement, fence=fence, clock=clock)
    return True


def settle(session: Session, job_id: UUID, *, charge: Charge, clock: Clock) -> Charge:
    """Charge a spent job for its executed prefix only, never above what was reserved. Returns the charge.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: the reservation is not spent, or is already settled.
    """
    budget, reservation = _locked(session, job_id)
    charged = bounded(charge, by=reservation.reserved)
    movement = _movement(reservation, EntryKind.SETTLED, charged)
    _move(session, budget, reservation, movement, clock=clock)
    return charged


def void(session: Session, job_id: UUID, *, clock: Clock) -> None:
    """Give back a reservation that no worker has claimed.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: the reservation is spent, voided or settled.
    """
    budget, reservation = _locked(session, job_id)
    movement = _movement(reservation, EntryKind.VOIDED, NOTHING)
    _move(session, budget, reservation, movement, clock=clock)


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
        remedy="Order with a smaller epsilon or delta, or ask for more: `understudy budget request`, or the dataset's page.",
    )


def _locked(session: Session, job_id: UUID) -> tuple[LockedBudget, Reservation]:
    budget = budget_lock.lock(session, repository.population_of_job(session, job_id))
    return budget, fold(repository.movements_of_job(session, job_id))


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
