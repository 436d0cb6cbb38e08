"""The book: reserve, spend, settle and void, each under the lock of the population's budget row.

Every function works inside the caller's transaction; what it appended exists when that transaction commits, and
never otherwise. Callers that hold a job's row lock take it before the budget's, so nobody waits in a circle.
What people decide - caps, grants, freezes - is in `core.ledger.governing`, what is read in `core.ledger.reading`; callers
find all of it here.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.ledger import repository, turnstile
from core.ledger.admission import require_room
from core.ledger.appending import append_movement, standing
from core.ledger.balance import Balance
from core.ledger.decisions import GrantState
from core.ledger.errors import (
    AlreadyReserved,
    BudgetNotSet,
    GrantClosed,
    GrantNotFound,
    GrantRefused,
    PopulationFrozen,
)
from core.ledger.governing import (
    cap_on,
    close_grant,
    freeze,
    grant,
    grant_cap,
    open_population,
    set_cap,
    unfreeze,
)
from core.ledger.reading import (
    OneMore,
    cap_of,
    charges_in_force,
    grants_of,
    is_frozen,
    one_more,
    open_grants,
    reservation_of,
    reserved_mechanism,
    statement,
    summary,
    verify_chain,
)
from core.ledger.reservation import NOTHING, EntryKind, Movement, Reservation, bounded, fold
from core.ledger.turnstile import LockedBudget
from core.privacy.charge import Charge
from core.privacy.filters import Admission

__all__ = [
    "GrantState",
    "OneMore",
    "cap_of",
    "charges_in_force",
    "close_grant",
    "freeze",
    "grant",
    "grants_of",
    "is_frozen",
    "one_more",
    "open_grants",
    "open_population",
    "reservation_of",
    "reserve",
    "reserved_mechanism",
    "set_cap",
    "settle",
    "spend",
    "statement",
    "summary",
    "unfreeze",
    "verify_chain",
    "void",
]


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
    """Reserve the charge of a plan for a job, or refuse; the one way in.

    Args:
        session: the open transaction.
        population_id: whose budget.
        job_id: for whom.
        charge: of the whole plan.
        mechanism_json: what will run.
        grant_id: the grant it draws on besides the cap; None draws on the cap alone (one person's own ledger).
        clock: stamps the entry and judges whether the grant has expired.

    Raises:
        PopulationNotFound: no such population.
        PopulationFrozen: it is frozen.
        BudgetNotSet: it has no cap yet.
        AlreadyReserved: the job has a reservation.
        GrantNotFound, GrantClosed, GrantRefused: the grant is not of this population, is over, or is too small.
        BudgetRefused: no filter holds with this charge added to everything spent and reserved.
        LedgerBroken: the last entry does not verify.
    """
    budget = turnstile.lock(session, population_id, job_id=job_id)
    if budget.frozen_at is not None:
        raise PopulationFrozen
    cap = cap_on(budget)
    if cap is None:
        raise BudgetNotSet(
            "No budget has been set for this dataset, so nothing may be spent.",
            remedy="Ask an admin to set one.",
        )
    if budget.job_is_known:
        raise AlreadyReserved(
            "This job has a reservation already.", remedy="Place a new order under a new id."
        )
    present = standing(session, budget, grant_id=grant_id)
    admission = require_room(cap, present.population.in_force, charge)
    if grant_id is not None and present.grant is not None:
        _require_grant(session, budget, grant_id, present.grant, charge, at=clock.now())
    movement = Movement(kind=EntryKind.RESERVED, job_id=job_id, charge=charge, grant_id=grant_id)
    append_movement(session, budget, present, None, movement, mechanism=mechanism_json, clock=clock)
    return admission


def spend(session: Session, job_id: UUID, *, fence: int, clock: Clock) -> bool:
    """Turn the job's reservation into a spend, once: before its private rows are opened.

    Returns:
        Whether this call spent; False when an earlier claim of the same job already had.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: the reservation was voided or settled.
        PopulationFrozen: it is only reserved, and the population is frozen.
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
    """Charge a spent job for its executed prefix only, never above what was reserved. Returns what is charged.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: it is not spent, or already settled.
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
        IllegalFold: it is spent, voided or settled.
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
    remedy = "Ask for a smaller epsilon or delta, or file a budget request."
    require_room(grant_cap(row, budget), drawn.in_force, charge, refusal=GrantRefused, remedy=remedy)


def _locked(session: Session, job_id: UUID) -> tuple[LockedBudget, Reservation]:
    budget = turnstile.lock(session, repository.population_of_job(session, job_id))
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
    present = standing(session, budget, grant_id=reservation.grant_id)
    append_movement(session, budget, present, reservation, movement, fence=fence, clock=clock)


def _movement(reservation: Reservation, kind: EntryKind, charge: Charge) -> Movement:
    return Movement(kind=kind, job_id=reservation.job_id, charge=charge, grant_id=reservation.grant_id)
