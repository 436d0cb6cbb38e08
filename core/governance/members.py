"""Members: the analysts a dataset is shown to, added one by one by its owner or an admin."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.dataset_member import DatasetMember
from core.governance import repository


def add(session: Session, dataset_id: UUID, principal_id: UUID, *, by: UUID, clock: Clock) -> bool:
    """Show the dataset to a principal. Returns whether it was not a member before."""
    member = DatasetMember(
        dataset_id=dataset_id, principal_id=principal_id, added_by=by, added_at=clock.now()
    )
    return repository.add_member(session, member)


def remove(session: Session, dataset_id: UUID, principal_id: UUID) -> bool:
    """Show the dataset to a principal no longer. Returns whether it was a member.

    Its grants stay what they are, of no use where the dataset cannot be seen; revoking them is a decision of its own,
    because the population's other versions may still be open to the holder.
    """
    return repository.remove_member(session, dataset_id, principal_id)


def of(session: Session, dataset_id: UUID) -> Sequence[DatasetMember]:
    """The members of a dataset, in the order in which they were added."""
    return repository.members_of(session, dataset_id)
