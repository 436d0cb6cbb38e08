"""Rotation of the master key: everything it seals is re-sealed row by row, while the service runs with both keys.

The master key seals only small secrets: data keys, signing keys, the service's secrets. Rows, checkpoints and
notes are sealed under data keys and are unchanged. Each row is re-sealed in its own transaction, and its mark
shows whether it is done, so an interrupted rotation, or two concurrent ones, can simply continue.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import LargeBinary, and_, func, literal, select, update
from sqlalchemy.orm import InstrumentedAttribute

from core.artifacts.signing import keyring
from core.data.errors import SealBroken
from core.data.master_keys import MARK_BYTES, MasterKeys
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.service_secret import ServiceSecret
from core.db.tables.signing_key import SigningKey
from core.db.tables.upload import Upload
from core.db.tables.waiting_rows import WaitingRows
from core.platform.access import pepper
from core.platform.notifications import details


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapped:
    """A column with secrets sealed under the master key.

    Args:
        name: Display name of its content.
        key: The column that identifies the row.
        context: The seal's context, from the row's key.
    """

    name: str
    key: InstrumentedAttribute[Any]
    column: InstrumentedAttribute[Any]
    context: Callable[[Any], str]


COLUMNS: Final[Sequence[Wrapped]] = (
    # Before the datasets: rows that are accepted during rotation move their key there.
    Wrapped(
        name="data keys of waiting rows",
        key=WaitingRows.dataset_id,
        column=WaitingRows.wrapped_data_key,
        context=lambda dataset_id: f"dataset:{dataset_id}",
    ),
    Wrapped(
        name="data keys",
        key=Dataset.id,
        column=Dataset.wrapped_data_key,
        context=lambda dataset_id: f"dataset:{dataset_id}",
    ),
    Wrapped(
        name="data keys of uploads under way",
        key=Upload.id,
        column=Upload.wrapped_data_key,
        context=lambda upload_id: f"upload:{upload_id}",
    ),
    Wrapped(
        name="signing keys",
        key=SigningKey.id,
        column=SigningKey.wrapped_private_key,
        context=keyring.wrapping_context,
    ),
    Wrapped(
        name="secrets of the service",
        key=ServiceSecret.name,
        column=ServiceSecret.wrapped,
        context=pepper.wrapping_context,
    ),
    Wrapped(
        name="addresses and secrets of notifications",
        key=NotificationEndpoint.id,
        column=NotificationEndpoint.wrapped_details,
        context=details.wrapping_context,
    ),
)
"""Everything sealed under the master key. A test searches the whole database for omissions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a rotation for one column.

    Args:
        done: Rows re-sealed by this call.
        closed: Rows that neither key opens.
    """

    name: str
    done: int
    closed: int


def rotate(database: Database, master_keys: MasterKeys) -> list[Progress]:
    """Re-seal everything that is not yet sealed under the current master key.

    Args:
        master_keys: The new key as the current one, the old one as the previous.

    Raises:
        DatabaseUnavailable: The database cannot be reached; a later call continues.
    """
    return [_rotate_column(database, master_keys, column) for column in COLUMNS]


def remaining(database: Database, master_keys: MasterKeys) -> int:
    """Number of rows that are not yet sealed under the current master key."""
    with database.read_only() as session:
        return sum(
            session.scalar(select(func.count()).where(_not_current(column, master_keys))) or 0
            for column in COLUMNS
        )


def _rotate_column(database: Database, master_keys: MasterKeys, wrapped: Wrapped) -> Progress:
    with database.read_only() as session:
        rows = session.scalars(select(wrapped.key).where(_not_current(wrapped, master_keys))).all()
    done = closed = 0
    for key in rows:
        try:
            done += _rotate_row(database, master_keys, wrapped, key)
        except SealBroken:
            closed += 1
    return Progress(name=wrapped.name, done=done, closed=closed)


def _rotate_row(database: Database, master_keys: MasterKeys, wrapped: Wrapped, key: object) -> bool:
    """Re-seal one row, unless it has been deleted or re-sealed since."""
    with database.transaction() as session:
        row = wrapped.key == key
        sealed = session.scalar(select(wrapped.column).where(row).with_for_update())
        if sealed is None or master_keys.is_current(sealed):
            return False
        context = wrapped.context(key)
        secret = master_keys.unwrap(sealed, context=context)
        anew = {wrapped.column: master_keys.wrap(secret, context=context)}
        session.execute(update(wrapped.column.class_).where(row).values(anew))
        return True


def _not_current(wrapped: Wrapped, master_keys: MasterKeys) -> Any:  # noqa: ANN401 - a condition of SQLAlchemy's many types
    mark = literal(master_keys.mark, LargeBinary())
    return and_(wrapped.column.is_not(None), func.substring(wrapped.column, 1, MARK_BYTES) != mark)
