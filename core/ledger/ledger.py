"""The ledger of jobs: reserve, spend, settle and void, each under the lock of the population's budget row.

Every append locks the budget's row, reads the entry at its head, and appends the next one. Every order does this, so it
takes as few round trips as possible: one statement locks and reads, one inserts and moves the head. Both are composed once
and run on the connection with plain columns, which costs Python less than mapped objects; `make bench-reservations`
measures the whole.

A job over datasets of several owners has one reservation in each of their ledgers. Every function moves all of them or
none: it locks the ledgers in the order of their populations' ids, checks every one, and only then appends.

Every function works inside the caller's transaction: what it appended exists once that transaction commits, and never
otherwise. Callers that hold a job's row lock take it before the budget's, so there is no deadlock. What people decide
(caps, grants, freezes) is in `core.ledger.governance`; what is read without a lock is in `core.ledger.ledger_queries`.
"""

from collections import namedtuple
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import and_, bindparam, exists, insert, select, update
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.budget import Budget
from core.db.tables.ledger_entry import LedgerEntry
from core.dp.charge import Charge
from core.dp.filters import Admission
from core.ledger import repository
from core.ledger.admission import require_recordable, require_room
from core.ledger.entries import LEDGER_CHAIN, Decision, Entry, GrantState, next_entry
from core.ledger.errors import (
    AlreadyReserved,
    BudgetNotSet,
    GrantClosed,
    GrantNotFound,
    GrantRefused,
    LedgerBroken,
    OwnerWithdrew,
    PopulationFrozen,
    PopulationNotFound,
)
from core.ledger.reservation import (
    EMPTY_BALANCE,
    NOTHING,
    Balance,
    EntryKind,
    Movement,
    Reservation,
    balance_of,
    bounded,
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
_locked_budget = (
    select(*_BUDGET).where(Budget.population_id == bindparam("population_id")).with_for_update().cte("locked")
)
_known = exists().where(LedgerEntry.job_id == bindparam("job_id"))
_LOCK: Final = select(*_locked_budget.columns, _known, *_ENTRY).select_from(
    _locked_budget.outerjoin(
        LedgerEntry.__table__,
        and_(
            LedgerEntry.population_id == _locked_budget.columns.population_id,
            LedgerEntry.sequence == _locked_budget.columns.head_sequence,
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
        job_id: the job to search for in the ledgers, if any.

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
        BudgetRefused: no filter of a ledger holds with this charge added to everything spent and reserved, or it cannot hold the sums.
        LedgerBroken: the last entry of a ledger does not verify.
    """
    ordered = sorted(payers, key=lambda payer: payer.population_id)
    # All locks come before the first entry: an entry of this job would look like an earlier reservation.
    locked = [(payer, lock(session, payer.population_id, job_id=job_id)) for payer in ordered]
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
    require_recordable(balances.population.in_force, charge)
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
        lock(session, population_id) for population_id in repository.populations_of_job(session, job_id)
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
