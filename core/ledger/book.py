"""The book: reserve, spend, settle and void, each under the lock of the population's budget row.

Every function works inside the caller's transaction; what it appended exists when that transaction commits, and
never otherwise. Callers that hold a job's row lock take it before the budget's, so nobody waits in a circle.
"""

from contextlib import closing
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.budget import Budget
from core.ledger import repository
from core.ledger.admission import require_cap_above, require_room
from core.ledger.chain import NO_HASH, ChainCheck, Head, check, link
from core.ledger.errors import AlreadyReserved, BudgetNotSet, ReservationNotFound
from core.ledger.reservation import NOTHING, EntryKind, Movement, Reservation, bounded, fold, fold_all
from core.ledger.statement import Statement
from core.privacy.charge import Charge
from core.privacy.filters import Admission, AdmissionRule, Cap, admit


def open_population(session: Session, *, rule: AdmissionRule, clock: Clock) -> UUID:
    """Begin a ledger for a new population, without a cap; its rule never changes. Returns the population's id."""
    budget = Budget(rule=rule.value, head_sequence=0, head_hash=NO_HASH, created_at=clock.now())
    repository.add_budget(session, budget)
    return budget.population_id


def set_cap(session: Session, population_id: UUID, *, epsilon: float, delta: float) -> Admission:
    """Set or change the caps. Returns the state of the filters under them.

    Raises:
        PopulationNotFound: no such population.
        InvalidGuarantee: epsilon or delta is out of range.
        CapBelowSpent: what is spent and reserved would not fit.
    """
    budget = repository.lock_budget(session, population_id)
    cap = Cap(epsilon=epsilon, delta=delta, rule=AdmissionRule(budget.rule))
    admission = require_cap_above(cap, _in_force(session, population_id))
    budget.epsilon_cap, budget.delta_cap = epsilon, delta
    session.flush()
    return admission


def cap_of(session: Session, population_id: UUID) -> Cap | None:
    """The cap, or None before one is set.

    Raises:
        PopulationNotFound: no such population.
    """
    return _cap(repository.budget_of(session, population_id))


def charges_in_force(session: Session, population_id: UUID) -> list[Charge]:
    """What counts against the caps now, one charge per reservation; without a lock, for quotes."""
    return _in_force(session, population_id)


def reserve(
    session: Session,
    *,
    population_id: UUID,
    job_id: UUID,
    charge: Charge,
    mechanism_json: dict[str, Any],
    clock: Clock,
) -> Admission:
    """Reserve the charge of a plan for a job, or refuse; the one way in.

    Raises:
        PopulationNotFound: no such population.
        BudgetNotSet: it has no cap yet.
        AlreadyReserved: the job has a reservation.
        BudgetRefused: no filter holds with this charge added to everything spent and reserved.
    """
    budget = repository.lock_budget(session, population_id)
    cap = _cap(budget)
    if cap is None:
        raise BudgetNotSet(
            "No budget has been set for this dataset, so nothing may be spent.",
            remedy="Ask an admin to set one.",
        )
    if repository.movements_of_job(session, job_id):
        raise AlreadyReserved(
            "This job has a reservation already.", remedy="Place a new order under a new id."
        )
    admission = require_room(cap, _in_force(session, population_id), charge)
    movement = Movement(kind=EntryKind.RESERVED, job_id=job_id, charge=charge)
    _append(session, budget, movement, mechanism=mechanism_json, clock=clock)
    return admission


def spend(session: Session, job_id: UUID, *, fence: int, clock: Clock) -> bool:
    """Turn the job's reservation into a spend, once: before its private rows are opened.

    Returns:
        Whether this call spent; False when an earlier claim of the same job already had.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: the reservation was voided or settled.
    """
    budget, reservation = _locked(session, job_id)
    if reservation.state is EntryKind.SPENT:
        return False
    movement = Movement(kind=EntryKind.SPENT, job_id=job_id, charge=reservation.reserved)
    reservation.after(movement)
    _append(session, budget, movement, fence=fence, clock=clock)
    return True


def settle(session: Session, job_id: UUID, *, charge: Charge, clock: Clock) -> Charge:
    """Charge a spent job for its executed prefix only, never above what was reserved. Returns what is charged.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: it is not spent, or already settled.
    """
    budget, reservation = _locked(session, job_id)
    charged = bounded(charge, by=reservation.reserved)
    movement = Movement(kind=EntryKind.SETTLED, job_id=job_id, charge=charged)
    reservation.after(movement)
    _append(session, budget, movement, clock=clock)
    return charged


def void(session: Session, job_id: UUID, *, clock: Clock) -> None:
    """Give back a reservation that no worker has claimed.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: it is spent, voided or settled.
    """
    budget, reservation = _locked(session, job_id)
    movement = Movement(kind=EntryKind.VOIDED, job_id=job_id, charge=NOTHING)
    reservation.after(movement)
    _append(session, budget, movement, clock=clock)


def reservation_of(session: Session, job_id: UUID) -> Reservation:
    """Where a job stands, without a lock.

    Raises:
        ReservationNotFound: nothing was reserved.
    """
    movements = repository.movements_of_job(session, job_id)
    if not movements:
        raise ReservationNotFound("The ledger has no reservation of this job.")
    return fold(movements)


def reserved_mechanism(session: Session, job_id: UUID) -> dict[str, Any]:
    """The JSON of the mechanism that was reserved for a job; empty where nothing was."""
    return repository.mechanism_of_job(session, job_id)


def statement(session: Session, population_id: UUID) -> Statement:
    """Everything an auditor may read; call it in `Database.read_only`, whose snapshot makes it consistent.

    Raises:
        PopulationNotFound: no such population.
    """
    budget = repository.budget_of(session, population_id)
    entries = tuple(repository.entries(session, population_id))
    reservations = tuple(fold_all(entry.movement for entry in entries).values())
    cap = _cap(budget)
    return Statement(
        population_id=population_id,
        rule=budget.rule,
        cap=cap,
        head=repository.head_of(budget),
        entries=entries,
        reservations=reservations,
        admission=None if cap is None else admit(cap, [each.in_force for each in reservations]),
    )


def verify_chain(session: Session, population_id: UUID, *, witness: Head | None = None) -> ChainCheck:
    """Recompute every hash of a population's chain up to the head on the budget's row.

    Args:
        session: a transaction; `Database.read_only` gives the snapshot that keeps appends out of the way.
        population_id: whose chain.
        witness: a head noted earlier outside this database.

    Raises:
        PopulationNotFound: no such population.
    """
    budget = repository.budget_of(session, population_id)
    with closing(repository.entries(session, population_id)) as entries:
        return check(entries, head=repository.head_of(budget), witness=witness)


def _locked(session: Session, job_id: UUID) -> tuple[Budget, Reservation]:
    budget = repository.lock_budget(session, repository.population_of_job(session, job_id))
    return budget, fold(repository.movements_of_job(session, job_id))


def _append(
    session: Session,
    budget: Budget,
    movement: Movement,
    *,
    clock: Clock,
    mechanism: dict[str, Any] | None = None,
    fence: int | None = None,
) -> None:
    entry = link(
        repository.head_of(budget),
        population_id=budget.population_id,
        movement=movement,
        mechanism=mechanism,
        fence=fence,
        at=clock.now(),
    )
    repository.append(session, budget, entry)


def _in_force(session: Session, population_id: UUID) -> list[Charge]:
    movements = repository.movements(session, population_id)
    return [reservation.in_force for reservation in fold_all(movements).values()]


def _cap(budget: Budget) -> Cap | None:
    if budget.epsilon_cap is None or budget.delta_cap is None:
        return None
    return Cap(epsilon=budget.epsilon_cap, delta=budget.delta_cap, rule=AdmissionRule(budget.rule))
