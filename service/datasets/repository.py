"""All SQL on the table of datasets, and who sees which of its rows."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, select, true
from sqlalchemy.orm import Session

from core.access.roles import Principal, Role
from core.db.tables.dataset import Dataset
from service.datasets.errors import DatasetNotFound
from service.paging import page_of


def visible_to(principal: Principal) -> ColumnElement[bool]:
    """The condition on datasets: analysts and admins see all (public facts only), owners their own."""
    return true() if principal.has(Role.ANALYST, Role.ADMIN) else Dataset.owner_id == principal.id


def add(session: Session, row: Dataset) -> None:
    """Insert a dataset."""
    session.add(row)
    session.flush()


def visible(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """A dataset whose public facts the principal may see.

    Raises:
        DatasetNotFound: No such dataset, or not for this principal.
    """
    return _found(session.scalar(select(Dataset).where(Dataset.id == dataset_id, visible_to(principal))))


def owned(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """A dataset that belongs to the principal.

    Raises:
        DatasetNotFound: No such dataset, or somebody else's.
    """
    return _found(
        session.scalar(select(Dataset).where(Dataset.id == dataset_id, Dataset.owner_id == principal.id))
    )


def owned_for_update(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """Like ``owned``, holding the row's lock until the transaction ends.

    Raises:
        DatasetNotFound: No such dataset, or somebody else's.
    """
    query = select(Dataset).where(Dataset.id == dataset_id, Dataset.owner_id == principal.id)
    return _found(session.scalar(query.with_for_update()))


def rows_key_of(session: Session, dataset_id: UUID) -> str | None:
    """Where the dataset's sealed rows lie, as committed."""
    return session.scalar(select(Dataset.rows_key).where(Dataset.id == dataset_id))


def page(
    session: Session, principal: Principal, *, limit: int, before: UUID | None
) -> tuple[Sequence[Dataset], UUID | None]:
    """A page of the datasets the principal may see."""
    return page_of(session, select(Dataset).where(visible_to(principal)), Dataset, limit=limit, before=before)


def _found(row: Dataset | None) -> Dataset:
    if row is None:
        raise DatasetNotFound
    return row
