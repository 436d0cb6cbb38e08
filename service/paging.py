"""Keyset pagination: newest first; each page names the item to continue before."""

from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Select, select, tuple_
from sqlalchemy.orm import Session

from core.db.tables.budget_request import BudgetRequest
from core.db.tables.dataset import Dataset
from core.db.tables.federation import Federation
from core.db.tables.grant import Grant
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.db.tables.utility_report import UtilityReport

Row = TypeVar("Row", BudgetRequest, UtilityReport, Dataset, Federation, Grant, Job, Release)


def page_of(
    session: Session, query: Select[Row], table: type[Row], *, limit: int, before: UUID | None
) -> tuple[Sequence[Row], UUID | None]:
    """Read one page: rows, newest first, and the id to continue before, which is None on the last page.

    Args:
        query: The rows to list, already restricted to those the caller may see.
        table: The table whose creation time and id order the list.
        before: The last id of the previous page; None for the first page.
    """
    order = tuple_(table.created_at, table.id)
    if before is not None:
        query = query.where(
            order < select(table.created_at, table.id).where(table.id == before).scalar_subquery()
        )
    newest_first = query.order_by(table.created_at.desc(), table.id.desc()).limit(limit + 1)
    rows = session.scalars(newest_first).all()
    return rows[:limit], rows[limit - 1].id if len(rows) > limit else None
