"""Reading the ledger without a lock: sums, previews of an order, statements, pages, and the verification of a chain."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.db.tables.budget import Budget
from core.db.tables.grant import Grant
from core.db.tables.ledger_entry import LedgerEntry
from core.dp.charge import FEMTO, MICRO, Charge, total
from core.dp.filters import Admission, AdmissionRule, Cap, FilterUse, admit
from core.errors import BudgetRefused
from core.ledger import repository
from core.ledger.admission import BASIC, decimal_text
from core.ledger.entries import Entry, GrantState, LedgerState, verify_entries
from core.ledger.errors import (
    BudgetNotSet,
    GrantNotFound,
    GrantRefused,
    IllegalFold,
    PopulationFrozen,
)
from core.ledger.hash_chain import ChainCheck, Head
from core.ledger.repository import BudgetRow, cap_on, entry_of, grant_cap
from core.ledger.reservation import (
    EMPTY_BALANCE,
    Balance,
    EntryKind,
    Reservation,
    balance_of,
    fold,
    fold_all,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The budget of one population at one moment, without its history. Nothing in it is private.

    Attributes:
        rule: which filters guard it: "filters" or "basic".
        cap: the cap; None before an admin has set one.
        frozen_at: since when nothing new may be reserved or spent; None while orders are accepted.
        head: the end of the chain; noted elsewhere, it is a witness against a rewritten history.
        admission: the state of every filter over what is spent and reserved; None without a cap.
    """

    population_id: UUID
    rule: str
    cap: Cap | None
    frozen_at: datetime | None
    head: Head
    balance: Balance
    admission: Admission | None

    @property
    def carried_by(self) -> str | None:
        """The filter that carries the dataset: of those that hold, the one with the largest free share."""
        return None if self.admission is None else self.admission.carried_by

    def to_json(self) -> dict[str, Any]:
        """Return the summary as the API shows it; amounts are exact decimals in strings."""
        return {
            "population_id": str(self.population_id),
            "rule": self.rule,
            "cap": None if self.cap is None else {"epsilon": self.cap.epsilon, "delta": self.cap.delta},
            "frozen_at": None if self.frozen_at is None else self.frozen_at.isoformat(),
            "spent": amounts(self.balance.spent),
            "reserved": amounts(self.balance.reserved),
            "carried_by": self.carried_by,
            "filters": [] if self.admission is None else list(_filters(self.admission)),
            "head": {"sequence": self.head.sequence, "hash": self.head.hash.hex()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The whole ledger of one population at one moment, as an auditor reads it. Nothing in it is private.

    Attributes:
        summary: the sums, recomputed from all entries.
        entries: every entry, oldest first.
        reservations: the fold of the entries, one per job, in order of reservation.
    """

    summary: Summary
    entries: tuple[Entry, ...]
    reservations: tuple[Reservation, ...]

    @property
    def movements(self) -> tuple[Entry, ...]:
        """The entries that move a reservation, without people's decisions."""
        return tuple(entry for entry in self.entries if entry.movement is not None)

    def total(self, *states: EntryKind) -> Charge:
        """Return the sum in force of reservations in these states."""
        return total(reservation.in_force for reservation in self.reservations if reservation.state in states)

    @property
    def in_force(self) -> tuple[Charge, ...]:
        """What counts against the caps, one charge per reservation."""
        return tuple(reservation.in_force for reservation in self.reservations)

    def to_json(self) -> dict[str, Any]:
        """Return the statement as the API shows it; amounts are exact decimals in strings."""
        return {
            "schema": "understudy.statement/2",
            **self.summary.to_json(),
            "totals": {state.value.lower(): amounts(self.total(state)) for state in EntryKind},
            "entries": [entry_json(entry) for entry in self.entries],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPreview:
    """What one more job would do to the budget.

    Attributes:
        fits: whether it would be admitted now.
        after: the filters of the cap with the job added; None before a cap is set.
        grant_after: the filters of the grant with the job added; None without a grant.
        refusal: the code of the refusal, or None.
    """

    fits: bool
    after: Admission | None
    grant_after: Admission | None
    refusal: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantBalance:
    """What a grant bounds, and what counts against it.

    Attributes:
        cap: the grant as a sub-cap, under the rule of its population.
        within: the population's cap; None before one is set.
        balance: what was drawn on it.
    """

    cap: Cap
    within: Cap | None
    balance: Balance


def cap_of(session: Session, population_id: UUID) -> Cap | None:
    """Return the cap, or None before one is set.

    Raises:
        PopulationNotFound: no such population.
    """
    return cap_on(repository.budget_of(session, population_id))


def is_frozen(session: Session, population_id: UUID) -> bool:
    """Return whether nothing new may be reserved or spent.

    Raises:
        PopulationNotFound: no such population.
    """
    return repository.budget_of(session, population_id).frozen_at is not None


def grants_of(session: Session, population_id: UUID) -> Sequence[Grant]:
    """Return all grants of a population, oldest first."""
    return session.scalars(
        select(Grant).where(Grant.population_id == population_id).order_by(Grant.created_at, Grant.id)
    ).all()


def open_grants(session: Session, population_id: UUID, *, holder: UUID, at: datetime) -> Sequence[Grant]:
    """Return the grants that a holder may draw on at a moment, in order of expiry."""
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


def charges_in_force(session: Session, population_id: UUID) -> list[Charge]:
    """Return what counts against the cap now, as one sum; for quotes."""
    return [_balance(session, population_id).in_force]


def preview_admission(
    session: Session, population_id: UUID, charge: Charge, *, grant_id: UUID | None
) -> AdmissionPreview:
    """Return what an order of this charge would meet now. There is no lock, so the order may still be refused.

    Raises:
        PopulationNotFound, GrantNotFound: no such population, or no such grant on it.
    """
    budget = repository.budget_of(session, population_id)
    cap = cap_on(budget)
    if cap is None:
        return AdmissionPreview(fits=False, after=None, grant_after=None, refusal=BudgetNotSet.code)
    after = admit(cap, [_balance(session, population_id).in_force, charge])
    grant_after = None
    if grant_id is not None:
        row = repository.grant_of(session, grant_id)
        if row.population_id != population_id:
            raise GrantNotFound
        drawn = repository.grant_balance(session, grant_id).in_force
        grant_after = admit(grant_cap(row, budget), [drawn, charge])
    refusal = None
    if budget.frozen_at is not None:
        refusal = PopulationFrozen.code
    elif not after.admitted:
        refusal = BudgetRefused.code
    elif grant_after is not None and not grant_after.admitted:
        refusal = GrantRefused.code
    return AdmissionPreview(fits=refusal is None, after=after, grant_after=grant_after, refusal=refusal)


def reservation_of(session: Session, job_id: UUID) -> Reservation:
    """Return a job's reservation: of a job over several ledgers the first, since all of them move together.

    Raises:
        ReservationNotFound: nothing was reserved.
        IllegalFold: the job's ledgers disagree.
    """
    first, *others = reservations_of(session, job_id).values()
    if any((each.state, each.in_force) != (first.state, first.in_force) for each in others):
        raise IllegalFold(job_id, "moved in some of its ledgers and not in others")
    return first


def reservations_of(session: Session, job_id: UUID) -> dict[UUID, Reservation]:
    """Return a job's reservations by population, in the order of the populations' ids.

    Raises:
        ReservationNotFound: nothing was reserved.
    """
    movements = repository.movements_of_job(session, job_id)
    return {each: fold(movements[each]) for each in repository.populations_of_job(session, job_id)}


def reserved_mechanisms(session: Session, job_id: UUID) -> dict[UUID, dict[str, Any]]:
    """Return the JSON of the mechanism that was reserved for a job in each of its ledgers, by population."""
    found = session.execute(
        select(LedgerEntry.population_id, LedgerEntry.mechanism).where(
            LedgerEntry.job_id == job_id, LedgerEntry.kind == EntryKind.RESERVED.value
        )
    )
    return {population_id: mechanism or {} for population_id, mechanism in found}


def summary(session: Session, population_id: UUID) -> Summary:
    """Return the cap, the sums and the filters, at a cost that does not grow with the ledger.

    Raises:
        PopulationNotFound: no such population.
    """
    return summary_of(repository.budget_of(session, population_id), _balance(session, population_id))


def statement(session: Session, population_id: UUID) -> Statement:
    """Return everything an auditor may read. The snapshot of `Database.read_only` makes it consistent.

    Raises:
        PopulationNotFound: no such population.
    """
    budget = repository.budget_of(session, population_id)
    entries = tuple(repository.entries(session, population_id))
    movements = (entry.movement for entry in entries if entry.movement is not None)
    reservations = tuple(fold_all(movements).values())
    return Statement(
        summary=summary_of(budget, balance_of(reservations)), entries=entries, reservations=reservations
    )


def verify_chain(session: Session, population_id: UUID, *, witnesses: Iterable[Head] = ()) -> ChainCheck:
    """Recompute a population's chain up to the head on its budget's row, and compare the rows that copy decisions.

    Args:
        session: a transaction; the snapshot of `Database.read_only` hides concurrent appends.
        witnesses: heads noted earlier outside this database.

    Raises:
        PopulationNotFound: no such population.
    """
    budget = repository.budget_of(session, population_id)
    state = LedgerState(rule=AdmissionRule(budget.rule))
    with closing(repository.entries(session, population_id)) as entries:
        found = verify_entries(entries, head=repository.head_of(budget), state=state, witnesses=witnesses)
    if not found.intact:
        return found
    problem = state.differs_from(
        cap=cap_on(budget),
        frozen=budget.frozen_at is not None,
        grants={row.id: _terms(row) for row in grants_of(session, population_id)},
    )
    return found if problem is None else found.broken(problem)


def summary_of(budget: BudgetRow, balance: Balance) -> Summary:
    """Return the sums and filters of a budget's row, given what counts against it."""
    cap = cap_on(budget)
    return Summary(
        population_id=budget.population_id,
        rule=budget.rule,
        cap=cap,
        frozen_at=budget.frozen_at,
        head=repository.head_of(budget),
        balance=balance,
        admission=None if cap is None else admit(cap, [balance.in_force]),
    )


def grant_balances(session: Session, grants: Collection[Grant]) -> Mapping[UUID, GrantBalance]:
    """Return what counts against each of several grants, by id, in two statements."""
    wanted = {grant.population_id for grant in grants}
    budgets = {
        row.population_id: row
        for row in session.scalars(select(Budget).where(Budget.population_id.in_(wanted)))
    }
    drawn = drawn_on(session, grants)
    return {
        grant.id: GrantBalance(
            cap=grant_cap(grant, budgets[grant.population_id]),
            within=cap_on(budgets[grant.population_id]),
            balance=drawn[grant.id],
        )
        for grant in grants
    }


def drawn_on(session: Session, grants: Collection[Grant]) -> Mapping[UUID, Balance]:
    """Return what was drawn on each of several grants, by id, in one statement; in none without grants."""
    if not grants:
        return {}
    newest = (
        select(LedgerEntry.grant_id, func.max(LedgerEntry.sequence).label("sequence"))
        .where(LedgerEntry.grant_id.in_([grant.id for grant in grants]))
        .group_by(LedgerEntry.grant_id)
        .subquery()
    )
    # A sequence alone names no entry, but a grant belongs to one population.
    entries = select(LedgerEntry.grant_id, LedgerEntry.grant_balance).join(
        newest, (newest.c.grant_id == LedgerEntry.grant_id) & (newest.c.sequence == LedgerEntry.sequence)
    )
    numbers = {grant_id: found for grant_id, found in session.execute(entries) if found is not None}
    return {
        grant.id: Balance.from_numbers(numbers[grant.id]) if grant.id in numbers else EMPTY_BALANCE
        for grant in grants
    }


def grants_with_room(session: Session, grants: Collection[Grant], charge: Charge) -> Sequence[Grant]:
    """Return those of several grants that would admit a charge now. There is no lock, so it may still be refused."""
    balances = grant_balances(session, grants)
    return [
        grant
        for grant in grants
        if admit(balances[grant.id].cap, [balances[grant.id].balance.in_force, charge]).admitted
    ]


def summaries(session: Session, population_ids: Collection[UUID]) -> Mapping[UUID, Summary]:
    """Return the budgets of several populations, read in one statement."""
    heads = (
        select(Budget, LedgerEntry.balance)
        .join(
            LedgerEntry,
            (LedgerEntry.population_id == Budget.population_id)
            & (LedgerEntry.sequence == Budget.head_sequence),
            isouter=True,
        )
        .where(Budget.population_id.in_(population_ids))
    )
    found = {}
    for budget, numbers in session.execute(heads).all():
        if numbers is None and budget.head_sequence:
            found[budget.population_id] = summary(session, budget.population_id)
        else:
            balance = EMPTY_BALANCE if numbers is None else Balance.from_numbers(numbers)
            found[budget.population_id] = summary_of(budget, balance)
    return found


def page(
    session: Session, population_id: UUID, *, limit: int, before: int | None
) -> tuple[Sequence[Entry], int | None]:
    """Return a page of a ledger, newest first, and the sequence to continue before (None on the last page)."""
    query = select(LedgerEntry).where(LedgerEntry.population_id == population_id)
    if before is not None:
        query = query.where(LedgerEntry.sequence < before)
    rows = session.scalars(query.order_by(LedgerEntry.sequence.desc()).limit(limit + 1)).all()
    return [entry_of(row) for row in rows[:limit]], rows[limit - 1].sequence if len(rows) > limit else None


def amounts(charge: Charge) -> dict[str, str]:
    """Return epsilon and delta of a charge as exact decimals."""
    return {
        "epsilon": decimal_text(charge.epsilon_micros, MICRO),
        "delta": decimal_text(charge.delta_femtos, FEMTO),
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return one entry as JSON, with everything that its hash covers."""
    movement = entry.movement
    shown: dict[str, Any] = {"sequence": entry.sequence, "kind": entry.kind, "at": entry.at.isoformat()}
    if movement is not None:
        shown |= {
            "job_id": str(movement.job_id),
            "grant_id": None if movement.grant_id is None else str(movement.grant_id),
            **amounts(movement.charge),
            "charge": movement.charge.to_json(),
            "mechanism": entry.mechanism,
            "fence": entry.fence,
        }
    if entry.decision is not None:
        shown["terms"] = entry.decision.terms
    return shown | {
        "balance": None if entry.balance is None else entry.balance.to_numbers(),
        "grant_balance": None if entry.grant_balance is None else entry.grant_balance.to_numbers(),
        "previous_hash": entry.previous_hash.hex(),
        "hash": entry.hash.hex(),
    }


def _filters(admission: Admission) -> Iterable[dict[str, Any]]:
    for name, use in admission.filters.items():
        yield {
            "filter": name,
            "holds": use.holds,
            "carries": name == admission.carried_by,
            "quantity": "epsilon" if name == BASIC else "Renyi divergence",
            # A filter without capacity promises nothing. It never holds and is shown as zero.
            "capacity": decimal_text(max(0, use.capacity_micros), MICRO),
            "used": decimal_text(use.used_micros, MICRO),
            "remaining": decimal_text(max(0, use.remaining_micros), MICRO),
            "delta": _delta(use),
        }


def _delta(use: FilterUse) -> dict[str, str] | None:
    if use.capacity_femtos is None or use.used_femtos is None:
        return None
    return {
        "capacity": decimal_text(use.capacity_femtos, FEMTO),
        "used": decimal_text(use.used_femtos, FEMTO),
        "remaining": decimal_text(max(0, use.capacity_femtos - use.used_femtos), FEMTO),
    }


def _terms(row: Grant) -> tuple[UUID, float, float, datetime, str]:
    return row.holder_id, row.epsilon, row.delta, row.expires_at, row.state


def _balance(session: Session, population_id: UUID) -> Balance:
    known = repository.last_balance(session, population_id)
    return known or balance_of(fold_all(repository.movements(session, population_id)).values())
