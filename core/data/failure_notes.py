"""The traceback of a failed attempt, for the owner of the rows only: sealed under the dataset's own key.

Anybody else learns a constant code. The text of an exception may quote a value, so it goes nowhere else.
"""

import traceback
from uuid import UUID

from core.data.errors import ObjectMissing
from core.data.objects import ObjectStore
from core.data.sealing import open_bytes, seal_bytes


def failure_note_key(job_id: UUID, fence: int) -> str:
    """Object key of the note of one attempt's failure."""
    return f"jobs/{job_id}/failure-{fence}.sealed"


def write_failure_note(
    store: ObjectStore, *, job_id: UUID, fence: int, data_key: bytes, error: BaseException
) -> None:
    """Seal the traceback of an error for the owner of the dataset, under the dataset's unwrapped data key."""
    key = failure_note_key(job_id, fence)
    text = "".join(traceback.format_exception(error))
    store.put_bytes(key, seal_bytes(data_key, text.encode(), context=key))


def read_failure_note(store: ObjectStore, *, job_id: UUID, fence: int, data_key: bytes) -> str:
    """Open a note.

    Raises:
        ObjectMissing: The attempt left none.
        SealBroken: The note is damaged, or the key is another dataset's.
    """
    key = failure_note_key(job_id, fence)
    return open_bytes(data_key, store.get_bytes(key), context=key).decode()


def newest_failure_note(
    store: ObjectStore, *, job_id: UUID, fence: int, data_key: bytes
) -> tuple[int, str] | None:
    """The note of the last attempt that left one, with the attempt's fence, up to the last fence that the job was claimed under; None if none did.

    Raises:
        SealBroken: The note is damaged, or the key is another dataset's.
    """
    for attempt in range(fence, 0, -1):
        try:
            return attempt, read_failure_note(store, job_id=job_id, fence=attempt, data_key=data_key)
        except ObjectMissing:
            continue
    return None
