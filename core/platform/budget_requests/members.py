"""Members of a dataset: the analysts that it is visible to, added one by one by its owner or an admin."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.dataset_member import DatasetMember


def add(session: Session, dataset_id: UUID, principal_id: UUID, *, by: UUID, clock: Clock) -> bool:
    """Make a principal a member. Returns whether it was not one before."""
    added = session.execute(
        insert(DatasetMember)
        .values(dataset_id=dataset_id, principal_id=principal_id, added_by=by, added_at=clock.now())
        .on_conflict_do_nothing()
        .returning(DatasetMember.principal_id)
    )
    return added.first() is not None


def remove(session: Session, dataset_id: UUID, principal_id: UUID) -> bool:
    """End a membership. Returns whether the principal was a member.

    The principal's grants stay open, but cannot be used on a dataset that it cannot see. Revoking them is a separate
    decision, because other versions of the population may still be visible to the holder.
    """
    removed = session.execute(
        delete(DatasetMember)
        .where(DatasetMember.dataset_id == dataset_id, DatasetMember.principal_id == principal_id)
        .returning(DatasetMember.principal_id)
    )
    return removed.first() is not None


def of(session: Session, dataset_id: UUID) -> Sequence[DatasetMember]:
    """Return the members of a dataset in the order in which they were added."""
    query = select(DatasetMember).where(DatasetMember.dataset_id == dataset_id)
    return session.scalars(query.order_by(DatasetMember.added_at, DatasetMember.principal_id)).all()


def includes(session: Session, dataset_id: UUID, principal_id: UUID) -> bool:
    """Return whether a principal is a member of a dataset."""
    return session.scalar(_one(dataset_id, principal_id)) is not None


def lock(session: Session, dataset_id: UUID, principal_id: UUID) -> bool:
    """Lock a member's row, which serialises the member's requests on the dataset. Returns whether there is such a member."""
    return session.scalar(_one(dataset_id, principal_id).with_for_update()) is not None


def _one(dataset_id: UUID, principal_id: UUID) -> Select[UUID]:
    return select(DatasetMember.principal_id).where(
        DatasetMember.dataset_id == dataset_id, DatasetMember.principal_id == principal_id
    )
