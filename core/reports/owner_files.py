"""Where an owner report lies and how it is sealed: under the data key of the dataset, so that it is destroyed with it.

The objects are in the dataset's own folder, which a deletion empties. Files are filled up to a length that follows
from the domain (`core.reports.owner_size`), so that what the store tells of them says nothing about rows.
"""

from typing import Final
from uuid import UUID

from core.storage.objects import ObjectStore
from core.storage.sealing import open_bytes, seal_bytes

STEP_BYTES: Final = 256 * 1024


def report_key(dataset_id: UUID, report_id: UUID, fence: int) -> str:
    """Where the report of one attempt lies."""
    return f"datasets/{dataset_id}/report-{report_id}-{fence}.sealed"


def write_report(store: ObjectStore, key: str, html: str, *, data_key: bytes, room: int = 0) -> None:
    """Seal a report and store it.

    Args:
        store: where.
        key: of `report_key`; it is part of what is sealed.
        html: the whole file.
        data_key: the dataset's unwrapped data key.
        room: how many bytes any report on this domain has room in; a file is filled up to that, in steps.
    """
    content = html.encode()
    steps = -(-max(len(content), room) // STEP_BYTES)
    # HTML ends as well with spaces.
    filled = content.ljust(steps * STEP_BYTES)
    store.put_bytes(key, seal_bytes(data_key, filled, context=key))


def read_report(store: ObjectStore, key: str, *, data_key: bytes) -> bytes:
    """Open a report.

    Raises:
        ObjectMissing: it is gone.
        SealBroken: it is damaged or the key is another dataset's.
    """
    return open_bytes(data_key, store.get_bytes(key), context=key)
