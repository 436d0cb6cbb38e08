"""All SQL on the table of datasets, and the visibility of its rows."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from core.data import waiting_rows
from core.db.tables.budget import Budget
from core.db.tables.dataset import Dataset
from core.plan.domain.columns.common_keys import LEARN
from core.platform.access import visibility
from core.platform.access.roles import Principal
from core.platform.access.visibility import seen_by
from service.datasets.errors import DatasetNotFound
from service.paging import page_of


def visible_to(principal: Principal) -> ColumnElement[bool]:
    """The condition for datasets whose public facts a principal may see.

    Admins and auditors see all, owners their own, analysts those they are members of. The same condition applies to
    the dataset of everything that an analyst orders, files or samples.
    """
    return seen_by(principal.roles, principal.id)


def governed_by(principal: Principal) -> ColumnElement[bool]:
    """The condition for datasets whose members, requests and grants a principal decides on: owners and admins."""
    return visibility.governed_by(principal.roles, principal.id)


def overseen_by(principal: Principal) -> ColumnElement[bool]:
    """The condition for datasets whose members, requests and grants of all analysts a principal may see."""
    return visibility.overseen_by(principal.roles, principal.id)


def add(session: Session, row: Dataset) -> None:
    """Insert a dataset."""
    session.add(row)
    session.flush()


def visible(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """A dataset whose public facts the principal may see.

    Raises:
        DatasetNotFound: No such dataset, or not visible to this principal.
    """
    return _found(session.scalar(select(Dataset).where(Dataset.id == dataset_id, visible_to(principal))))


def governed(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """A dataset whose budget and members the principal decides on, as its owner or an admin.

    Raises:
        DatasetNotFound: No such dataset, or the principal has no such right.
    """
    return _found(session.scalar(select(Dataset).where(Dataset.id == dataset_id, governed_by(principal))))


def governed_for_update(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """Like ``governed``, with the row locked until the transaction ends. Orders that reference the row do not block.

    Raises:
        DatasetNotFound: No such dataset, or the principal has no such right.
    """
    query = select(Dataset).where(Dataset.id == dataset_id, governed_by(principal))
    return _found(session.scalar(query.with_for_update(key_share=True)))


def overseen(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """A dataset whose members and their requests the principal may see.

    Raises:
        DatasetNotFound: No such dataset, or the principal has no such right.
    """
    return _found(session.scalar(select(Dataset).where(Dataset.id == dataset_id, overseen_by(principal))))


def owned(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """A dataset of the principal.

    Raises:
        DatasetNotFound: No such dataset, or someone else's.
    """
    return _found(
        session.scalar(select(Dataset).where(Dataset.id == dataset_id, Dataset.owner_id == principal.id))
    )


def owned_for_update(session: Session, dataset_id: UUID, principal: Principal) -> Dataset:
    """Like ``owned``, with the row locked until the transaction ends.

    Raises:
        DatasetNotFound: No such dataset, or someone else's.
    """
    query = select(Dataset).where(Dataset.id == dataset_id, Dataset.owner_id == principal.id)
    return _found(session.scalar(query.with_for_update()))


def rules_of(session: Session, rows: Sequence[Dataset]) -> dict[UUID, str]:
    """The admission rule of each dataset's population."""
    populations = {row.population_id for row in rows}
    query = select(Budget.population_id, Budget.rule).where(Budget.population_id.in_(populations))
    return dict(session.execute(query).all())


def has_thresholds() -> ColumnElement[bool]:
    """The condition for datasets, not deleted, whose generators learn categories, so that only basic composition covers them."""
    learns: ColumnElement[bool] = Dataset.domain["columns"].contains([{"categories": LEARN}])
    return and_(Dataset.deleted_at.is_(None), learns)


def names_of(session: Session, dataset_ids: Collection[UUID], principal: Principal) -> dict[UUID, str]:
    """The names of those given datasets that the principal may see."""
    query = select(Dataset.id, Dataset.name).where(Dataset.id.in_(dataset_ids), visible_to(principal))
    return dict(session.execute(query).all())


def settled_rows_keys(session: Session, dataset_id: UUID) -> set[str]:
    """Object keys of the dataset's stored or waiting rows. Waits for concurrent commits on its row."""
    stored = session.scalar(select(Dataset.rows_key).where(Dataset.id == dataset_id).with_for_update())
    return {key for key in (stored, waiting_rows.key_of(session, dataset_id)) if key is not None}


def page(
    session: Session, principal: Principal, *, limit: int, before: UUID | None
) -> tuple[Sequence[Dataset], UUID | None]:
    """A page of the datasets that the principal may see."""
    return page_of(session, select(Dataset).where(visible_to(principal)), Dataset, limit=limit, before=before)


def _found(row: Dataset | None) -> Dataset:
    if row is None:
        raise DatasetNotFound
    return row
