"""Wire types of members."""

from collections.abc import Iterable
from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel

from core.db.tables.dataset_member import DatasetMember


class MemberView(BaseModel):
    """An analyst who can see a dataset."""

    principal_id: UUID
    added_by: UUID
    added_at: datetime


class MemberList(BaseModel):
    """All members of a dataset, in the order added."""

    items: list[MemberView]

    @classmethod
    def of(cls, rows: Iterable[DatasetMember]) -> Self:
        """Show rows."""
        return cls(
            items=[
                MemberView(principal_id=row.principal_id, added_by=row.added_by, added_at=row.added_at)
                for row in rows
            ]
        )
