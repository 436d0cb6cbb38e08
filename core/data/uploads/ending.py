"""Ending uploads: the transaction that ends an upload destroys its key; its objects are deleted afterwards.

If a process is killed in between, the sweep deletes the objects. Until then they cannot be opened: their key
is gone.
"""

from collections import defaultdict
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.data.objects import ObjectStore, StoredObject, delete_each
from core.data.upload_parts import FOLDER
from core.data.uploads import repository
from core.data.uploads.repository import UPLOADS
from core.db.session import Database
from core.db.tables.upload import Upload

# An object of a live upload without a row belongs to a part that is still arriving, or whose sender has died.
ARRIVING: Final = timedelta(days=1)
REMEMBERED: Final = timedelta(days=7)
NOT_REMOVED: Final = "upload-part-not-removed"


def end(
    session: Session, upload: Upload, state: str, *, clock: Clock, failure: dict[str, Any] | None = None
) -> None:
    """End a live upload whose row the caller has locked."""
    UPLOADS.end(upload, state)
    upload.wrapped_data_key = None
    upload.failure = failure
    upload.ended_at = clock.now()
    repository.remove_parts(session, upload.id)


def end_all_of(session: Session, dataset_id: UUID, *, clock: Clock) -> int:
    """Abort every live upload to a dataset whose row the caller has locked. Returns how many."""
    live = repository.live_of_dataset(session, dataset_id)
    for upload in live:
        end(session, upload, "aborted", clock=clock)
    return len(live)


def erase_parts(store: ObjectStore, upload_id: UUID) -> None:
    """Delete the objects of an ended upload; the sweep retries what cannot be deleted now."""
    delete_each(
        store,
        (found.key for found in list(store.list(f"{FOLDER}/{upload_id}"))),
        failed=NOT_REMOVED,
    )


def sweep_uploads(database: Database, store: ObjectStore, *, clock: Clock) -> int:
    """End expired uploads, remove objects of ended uploads, and forget uploads that ended long ago.

    Returns:
        Number of uploads ended or forgotten, plus objects removed.

    Raises:
        DatabaseUnavailable: The database cannot be reached.
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
    # Looked up after the listing: an upload that is not live by now accepts no part still being sent.
    with database.read_only() as session:
        live = repository.live_among(session, objects)
        named = repository.named_objects(session, live)
    arriving_since = clock.now() - ARRIVING
    return delete_each(
        store,
        (
            found.key
            for upload_id, listed in objects.items()
            for found in listed
            if upload_id not in live or (found.key not in named and found.stored_at < arriving_since)
        ),
        failed=NOT_REMOVED,
    )


def _upload_of(key: str) -> UUID | None:
    try:
        return UUID(key.split("/")[1])
    except (IndexError, ValueError):
        return None
