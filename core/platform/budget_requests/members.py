"""Members of a dataset: the analysts that it is visible to, added one by one by its owner or an admin."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.dataset_member import DatasetMember
from core.platform.budget_requests import repository


def add(session: Session, dataset_id: UUID, principal_id: UUID, *, by: UUID, clock: Clock) -> bool:
    """Make a principal a member. Returns whether it was not one before."""
    member = DatasetMember(
        dataset_id=dataset_id, principal_id=principal_id, added_by=by, added_at=clock.now()
    )
    return repository.add_member(session, member)


def remove(session: Session, dataset_id: UUID, principal_id: UUID) -> bool:
    """End a membership. Returns whether the principal was a member.

    The principal's grants stay open, but cannot be used on a dataset that it cannot see. Revoking them is a separate
    decision, because other versions of the population may still be visible to the holder.
    """
    return repository.remove_member(session, dataset_id, principal_id)


def of(session: Session, dataset_id: UUID) -> Sequence[DatasetMember]:
    """Return the members of a dataset in the order in which they were added."""
    return repository.members_of(session, dataset_id)
