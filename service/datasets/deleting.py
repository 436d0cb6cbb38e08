"""Deleting a dataset through the API: the request's transaction destroys the key; objects are removed right after it."""

from datetime import datetime
from typing import Self
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from core.db.session import on_commit
from core.db.tables.dataset import Dataset
from core.platform.deletion import finish_deletions, mark_deleted
from service.audit import record
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.problem import problems
from service.strict_route import StrictRoute
from service.wire import coarse


class Tombstone(BaseModel):
    """A dataset whose rows nobody can decrypt any more."""

    id: UUID
    population_id: UUID = Field(description="The population whose budget keeps the spent epsilon.")
    state: str = Field(description="deleted.")
    deleted_at: datetime | None

    @classmethod
    def of(cls, row: Dataset) -> Self:
        """Convert a deleted row."""
        return cls(
            id=row.id,
            population_id=row.population_id,
            state=row.state,
            deleted_at=None if row.deleted_at is None else coarse(row.deleted_at),
        )


router = APIRouter(prefix="/datasets", tags=["datasets"], route_class=StrictRoute)


@router.delete("/{dataset_id}", summary="Delete a dataset", responses=problems(DatasetNotFound))
def delete_dataset(
    dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> Tombstone:
    """Destroy the key of the rows. For the owner, or an admin at the owner's request. This cannot be undone.

    Once this returns, the rows cannot be decrypted; the sealed objects are removed right after. Queued jobs are
    cancelled; running jobs are stopped and charged for the work they started. The public facts stay as a tombstone, the
    ledger keeps the spent budget, and releases remain, because their guarantee still holds. Deleting again changes
    nothing.
    """
    row = repository.governed_for_update(session, dataset_id, principal)
    if mark_deleted(session, row, by=principal.id, clock=context.clock):
        record(session, principal, action="dataset.delete", object_id=row.id, clock=context.clock)
    on_commit(session, lambda: _finish(context))
    return Tombstone.of(row)


def _finish(context: InjectedContext) -> None:
    finish_deletions(context.database, context.store, clock=context.clock)
