"""Parts of ledgers at a cost that does not grow with them: many budgets at once, a page of entries, the newest steps."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.db.tables.budget import Budget
from core.db.tables.grant import Grant
from core.db.tables.ledger_entry import MOVEMENTS, LedgerEntry
from core.ledger.balance import EMPTY_BALANCE, RESERVED_EPSILON, SPENT_EPSILON, Balance
from core.ledger.chain import Entry
from core.ledger.governing import grant_cap
from core.ledger.reading import summary, summary_of
from core.ledger.statement import Summary
from core.ledger.turnstile import entry_of
from core.privacy.filters import Cap

NEWEST_STEPS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The sums of a budget after one movement.

    Args:
        sequence: of the entry.
        at: when it was written.
        kind: what the entry did.
        job_id: whose reservation it moved; every movement has one.
        spent_micros: epsilon that is spent after it, in millionths; None in entries of the first release.
        reserved_micros: epsilon that is reserved after it, likewise.
    """

    sequence: int
    at: datetime
    kind: str
    job_id: UUID | None
    spent_micros: int | None
    reserved_micros: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantStanding:
    """What a grant bounds, and what counts against it.

    Args:
        cap: the grant as a sub-cap, under the rule of its population.
        balance: what was drawn on it.
    """

    cap: Cap
    balance: Balance


def grant_standings(session: Session, grants: Collection[Grant]) -> Mapping[UUID, GrantStanding]:
    """What counts against each of several grants, by id, in two statements."""
    wanted = {grant.population_id for grant in grants}
    budgets = {
        row.population_id: row
        for row in session.scalars(select(Budget).where(Budget.population_id.in_(wanted)))
    }
    newest = (
        select(LedgerEntry.grant_id, func.max(LedgerEntry.sequence).label("sequence"))
        .where(LedgerEntry.grant_id.in_([grant.id for grant in grants]))
        .group_by(LedgerEntry.grant_id)
        .subquery()
    )
    # The sequence alone names no entry, but a grant is of one population.
    entries = select(LedgerEntry.grant_id, LedgerEntry.grant_balance).join(
        newest, (newest.c.grant_id == LedgerEntry.grant_id) & (newest.c.sequence == LedgerEntry.sequence)
    )
    numbers = {grant_id: found for grant_id, found in session.execute(entries) if found is not None}
    return {
        grant.id: GrantStanding(
            cap=grant_cap(grant, budgets[grant.population_id]),
            balance=Balance.from_numbers(numbers[grant.id]) if grant.id in numbers else EMPTY_BALANCE,
        )
        for grant in grants
    }


def summaries(session: Session, population_ids: Collection[UUID]) -> Mapping[UUID, Summary]:
    """The budgets of several populations, read in one statement."""
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
    """A page of a ledger, newest first, and the sequence to continue before, or None on the last page."""
    query = select(LedgerEntry).where(LedgerEntry.population_id == population_id)
    if before is not None:
        query = query.where(LedgerEntry.sequence < before)
    rows = session.scalars(query.order_by(LedgerEntry.sequence.desc()).limit(limit + 1)).all()
    return [entry_of(row) for row in rows[:limit]], rows[limit - 1].sequence if len(rows) > limit else None


def newest_steps(session: Session, population_id: UUID, *, limit: int = NEWEST_STEPS) -> Sequence[Step]:
    """The newest movements of jobs with the sums after each, oldest first."""
    columns = (
        LedgerEntry.sequence,
        LedgerEntry.at,
        LedgerEntry.kind,
        LedgerEntry.job_id,
        # Two numbers of sixteen: a thousand whole balances take longer to read than everything else of a page.
        LedgerEntry.balance[SPENT_EPSILON],
        LedgerEntry.balance[RESERVED_EPSILON],
    )
    rows = session.execute(
        select(*columns)
        .where(LedgerEntry.population_id == population_id, LedgerEntry.kind.in_(MOVEMENTS))
        .order_by(LedgerEntry.sequence.desc())
        .limit(limit)
    ).all()
    return [
        Step(
            sequence=sequence,
            at=at,
            kind=kind,
            job_id=job_id,
            spent_micros=spent_micros,
            reserved_micros=reserved_micros,
        )
        for sequence, at, kind, job_id, spent_micros, reserved_micros in reversed(rows)
    ]
