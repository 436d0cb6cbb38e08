"""How the sums of a ledger developed, at a cost that does not grow with it: its newest movements, or a few entries, evenly spaced."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from core.db.tables.budget import Budget
from core.db.tables.ledger_entry import MOVEMENTS, LedgerEntry
from core.ledger.reservation import RESERVED_EPSILON, SPENT_EPSILON

COURSE_POINTS: Final = 48
NEWEST_STEPS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursePoint:
    """The sums of a budget after one entry.

    Attributes:
        at: when the entry was written.
        spent_micros: epsilon spent after it, in millionths.
        reserved_micros: epsilon reserved after it, likewise.
    """

    at: datetime
    spent_micros: int
    reserved_micros: int


def courses_of(session: Session, population_ids: Collection[UUID]) -> Mapping[UUID, Sequence[CoursePoint]]:
    """Return how the sums of several populations developed, oldest first, in one statement.

    At most `COURSE_POINTS` entries of each ledger are read, evenly spaced up to its head, so the cost does not
    grow with the ledger.
    """
    place = func.generate_series(0, COURSE_POINTS - 1).table_valued("number").render_derived()
    spacing = (Budget.head_sequence + COURSE_POINTS - 1) // COURSE_POINTS
    points = (
        select(
            LedgerEntry.population_id,
            LedgerEntry.at,
            LedgerEntry.balance[SPENT_EPSILON],
            LedgerEntry.balance[RESERVED_EPSILON],
        )
        .select_from(Budget)
        .join(place, true())
        .join(
            LedgerEntry,
            (LedgerEntry.population_id == Budget.population_id)
            & (LedgerEntry.sequence == Budget.head_sequence - place.c.number * spacing),
        )
        .where(Budget.population_id.in_(population_ids), LedgerEntry.balance.is_not(None))
        .order_by(LedgerEntry.population_id, LedgerEntry.sequence)
    )
    found: dict[UUID, list[CoursePoint]] = {population_id: [] for population_id in population_ids}
    for population_id, at, spent_micros, reserved_micros in session.execute(points):
        found[population_id].append(
            CoursePoint(at=at, spent_micros=spent_micros, reserved_micros=reserved_micros)
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The sums of a budget after one movement.

    Attributes:
        sequence: of the entry.
        at: when it was written.
        kind: what the entry did.
        job_id: whose reservation it moved; every movement has one.
        spent_micros: epsilon spent after it, in millionths; None in entries of the first release.
        reserved_micros: epsilon reserved after it, likewise.
    """

    sequence: int
    at: datetime
    kind: str
    job_id: UUID | None
    spent_micros: int | None
    reserved_micros: int | None


def newest_steps(session: Session, population_id: UUID, *, limit: int = NEWEST_STEPS) -> Sequence[Step]:
    """Return the newest movements of jobs with the sums after each, oldest first."""
    columns = (
        LedgerEntry.sequence,
        LedgerEntry.at,
        LedgerEntry.kind,
        LedgerEntry.job_id,
        # Two numbers of sixteen: reading a thousand whole balances takes longer than the rest of a page.
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
