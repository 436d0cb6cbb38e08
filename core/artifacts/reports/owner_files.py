"""Storage of owner reports: sealed under the dataset's data key, and therefore destroyed with it.

The objects are in the dataset's folder, which a deletion empties. Files are padded to a length that follows
from the domain (`core.artifacts.reports.owner_page.most_bytes`), so object sizes reveal nothing about rows.
"""

from typing import Final
from uuid import UUID

from core.data.objects import ObjectStore
from core.data.sealing import open_bytes, seal_bytes

STEP_BYTES: Final = 256 * 1024


def report_key(dataset_id: UUID, report_id: UUID, fence: int) -> str:
    """The object key of one attempt's report."""
    return f"datasets/{dataset_id}/report-{report_id}-{fence}.sealed"


def write_report(store: ObjectStore, key: str, html: str, *, data_key: bytes, room: int = 0) -> None:
    """Seal a report and store it.

    Args:
        key: from `report_key`; it is authenticated with the content.
        room: size in bytes that fits any report on this domain; the file is padded to it, in steps.
    """
    content = html.encode()
    steps = -(-max(len(content), room) // STEP_BYTES)
    # Trailing spaces are harmless in HTML.
    filled = content.ljust(steps * STEP_BYTES)
    store.put_bytes(key, seal_bytes(data_key, filled, context=key))


def read_report(store: ObjectStore, key: str, *, data_key: bytes) -> bytes:
    """Open a report.

    Raises:
        ObjectMissing: it is gone.
        SealBroken: it is damaged or the key is another dataset's.
    """
    return open_bytes(data_key, store.get_bytes(key), context=key)
