"""How uploads end: their key is destroyed in the transaction that ends them, their objects go after it.

Whatever is killed in between, the sweep finds it: an object of an upload that is not live is of no use to anybody, for
its key is gone.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from obstore.exceptions import BaseError as StoreError
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.session import Database
from core.db.tables.upload import Upload
from core.logs import get_logger
from core.storage.objects import ObjectStore, StoredObject
from core.storage.upload_parts import FOLDER
from core.uploads import repository

# An object of a live upload that no row names belongs to a part that is just arriving, or never will.
ARRIVING: Final = timedelta(days=1)
REMEMBERED: Final = timedelta(days=7)


def end(
    session: Session, upload: Upload, state: str, *, clock: Clock, failure: dict[str, Any] | None = None
) -> None:
    """End an upload whose row the caller has locked.

    Args:
        session: The open transaction.
        upload: A live one.
        state: What it becomes.
        clock: Stamps it.
        failure: Why its rows were refused.
    """
    upload.state = state
    upload.wrapped_data_key = None
    upload.lease_expires_at = None
    upload.fence += 1
    upload.failure = failure
    upload.ended_at = clock.now()
    repository.remove_parts(session, upload.id)


def end_all_of(session: Session, dataset_id: UUID, *, clock: Clock) -> int:
    """Abort every live upload to a dataset, whose row the caller has locked. Returns how many."""
    live = repository.live_of_dataset(session, dataset_id)
    for upload in live:
        end(session, upload, "aborted", clock=clock)
    return len(live)


def erase_parts(store: ObjectStore, upload_id: UUID) -> None:
    """Delete the objects of an upload that has ended; what cannot be deleted now is left to the sweep."""
    _delete(store, (found.key for found in list(store.list(f"{FOLDER}/{upload_id}"))))


def sweep_uploads(database: Database, store: ObjectStore, *, clock: Clock) -> int:
    """End uploads whose time is over, remove objects of uploads that have ended, and forget what ended long ago.

    Returns:
        How many uploads ended or were forgotten, and objects were removed.

    Raises:
        DatabaseUnavailable: The database is away.
    """
    ended = 0
    while batch := _end_batch(database, clock=clock):
        ended += batch
    removed = _remove_leftovers(database, store, clock=clock)
    with database.transaction() as session:
        forgotten = repository.forget_ended(session, before=clock.now() - REMEMBERED)
    return ended + removed + forgotten


def _end_batch(database: Database, *, clock: Clock) -> int:
    with database.transaction() as session:
        found = repository.over(session, now=clock.now())
        for upload, state in found:
            end(session, upload, state, clock=clock)
    return len(found)


def _remove_leftovers(database: Database, store: ObjectStore, *, clock: Clock) -> int:
    objects: defaultdict[UUID, list[StoredObject]] = defaultdict(list)
    for found in store.list(FOLDER):
        upload_id = _upload_of(found.key)
        if upload_id is not None:
            objects[upload_id].append(found)
    # Looked up after the listing: an upload that is not live now has no part on its way that would still count.
    with database.read_only() as session:
        live = repository.live_among(session, objects)
        named = repository.named_objects(session, live)
    arriving_since = clock.now() - ARRIVING
    return _delete(
        store,
        (
            found.key
            for upload_id, listed in objects.items()
            for found in listed
            if upload_id not in live or (found.key not in named and found.stored_at < arriving_since)
        ),
    )


def _upload_of(key: str) -> UUID | None:
    try:
        return UUID(key.split("/")[1])
    except (IndexError, ValueError):
        return None


def _delete(store: ObjectStore, keys: Iterable[str]) -> int:
    removed = 0
    for key in keys:
        try:
            store.delete(key)
        except (StoreError, OSError):
            get_logger().warning("upload-part-not-removed", exc_info=True)
        else:
            removed += 1
    return removed
