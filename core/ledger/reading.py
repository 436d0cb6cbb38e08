"""Reading the ledger: sums, statements, what one more job would meet, and the verification of a chain."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.db.tables.grant import Grant
from core.errors import BudgetRefused
from core.ledger import repository
from core.ledger.balance import Balance, balance_of
from core.ledger.books import Books
from core.ledger.chain import Head
from core.ledger.errors import (
    BudgetNotSet,
    GrantNotFound,
    GrantRefused,
    PopulationFrozen,
    ReservationNotFound,
)
from core.ledger.governing import cap_on, grant_cap
from core.ledger.repository import BudgetRow
from core.ledger.reservation import Reservation, fold, fold_all
from core.ledger.statement import Statement, Summary
from core.ledger.verification import ChainCheck, check
from core.privacy.charge import Charge
from core.privacy.filters import Admission, AdmissionRule, Cap, admit


@dataclass(frozen=True, slots=True, kw_only=True)
class OneMore:
    """What one more job would do to the budget, and whether it fits.

    Args:
        fits: whether it would be admitted now.
        after: the filters of the cap with the job added; None before a cap is set.
        grant_after: the filters of the grant with the job added; None without a grant.
        refusal: the code of the refusal, or None.
    """

    fits: bool
    after: Admission | None
    grant_after: Admission | None
    refusal: str | None


def cap_of(session: Session, population_id: UUID) -> Cap | None:
    """The cap, or None before one is set.

    Raises:
        PopulationNotFound: no such population.
    """
    return cap_on(repository.budget_of(session, population_id))


def is_frozen(session: Session, population_id: UUID) -> bool:
    """Whether nothing new may be reserved or spent.

    Raises:
        PopulationNotFound: no such population.
    """
    return repository.budget_of(session, population_id).frozen_at is not None


def grants_of(session: Session, population_id: UUID) -> Sequence[Grant]:
    """All grants of a population, oldest first."""
    return repository.grants(session, population_id)


def open_grants(session: Session, population_id: UUID, *, holder: UUID, at: datetime) -> Sequence[Grant]:
    """The grants a holder may draw on at a moment, the one that ends first in front."""
    return repository.open_grants(session, population_id, holder=holder, at=at)


def charges_in_force(session: Session, population_id: UUID) -> list[Charge]:
    """What counts against the cap now, summed; without a lock, for quotes."""
    return [_balance(session, population_id).in_force]


def one_more(session: Session, population_id: UUID, charge: Charge, *, grant_id: UUID | None) -> OneMore:
    """Say what an order of this charge would meet now; without a lock, so the order itself may still be refused.

    Raises:
        PopulationNotFound, GrantNotFound: no such population, or no such grant on it.
    """
    budget = repository.budget_of(session, population_id)
    cap = cap_on(budget)
    if cap is None:
        return OneMore(fits=False, after=None, grant_after=None, refusal=BudgetNotSet.code)
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
    return OneMore(fits=refusal is None, after=after, grant_after=grant_after, refusal=refusal)


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


def summary(session: Session, population_id: UUID) -> Summary:
    """The cap, the sums and the filters, at a cost that does not grow with the ledger.

    Raises:
        PopulationNotFound: no such population.
    """
    return summary_of(repository.budget_of(session, population_id), _balance(session, population_id))


def statement(session: Session, population_id: UUID) -> Statement:
    """Everything an auditor may read; call it in `Database.read_only`, whose snapshot makes it consistent.

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


def verify_chain(session: Session, population_id: UUID, *, witness: Head | None = None) -> ChainCheck:
    """Recompute a population's chain up to the head on its budget's row, and compare the rows that copy decisions.

    Args:
        session: a transaction; `Database.read_only` gives the snapshot that keeps appends out of the way.
        population_id: whose chain.
        witness: a head noted earlier outside this database.

    Raises:
        PopulationNotFound: no such population.
    """
    budget = repository.budget_of(session, population_id)
    books = Books(rule=AdmissionRule(budget.rule))
    with closing(repository.entries(session, population_id)) as entries:
        found = check(entries, head=repository.head_of(budget), books=books, witness=witness)
    if not found.intact:
        return found
    problem = books.differs_from(
        cap=cap_on(budget),
        frozen=budget.frozen_at is not None,
        grants={row.id: _terms(row) for row in repository.grants(session, population_id)},
    )
    broken_at = None if problem is None else found.checked + 1
    return ChainCheck(checked=found.checked, broken_at=broken_at, problem=problem)


def summary_of(budget: BudgetRow, balance: Balance) -> Summary:
    """The sums and filters of a budget's row, given what counts against it."""
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


def _terms(row: Grant) -> tuple[UUID, float, float, datetime, str]:
    return row.holder_id, row.epsilon, row.delta, row.expires_at, row.state


def _balance(session: Session, population_id: UUID) -> Balance:
    known = repository.last_balance(session, population_id)
    return known or balance_of(fold_all(repository.movements(session, population_id)).values())
