"""Export of the audit log in chain order, one batch per short transaction, with a signed trailer.

The trailer is the last line: in JSON lines an object with the member ``trailer``, in CSV a line that starts with ``#``.
It is signed and states the number of events, the SHA-256 of all preceding bytes, and the chain head at the time of the
export. A file without a trailer was truncated.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from core.artifacts.signing.contexts import AUDIT_EXPORT
from core.artifacts.signing.signed import Signer
from core.canonical import canonical
from core.db.session import Database
from core.ledger import audit_log
from core.ledger.audit_log import AuditFilter, Link
from core.ledger.hash_chain import Head
from service.edge.streaming import Pieces

BATCH: Final = 1000
COLUMNS: Final = (
    "position", "sequence", "at", "actor", "action", "object", "outcome", "client_address", "request_id",
    "previous_hash", "hash",
)  # fmt: skip


class ExportFormat(StrEnum):
    """The file format."""

    JSONL = "jsonl"
    CSV = "csv"


MEDIA_TYPES: Final[Mapping[ExportFormat, str]] = {
    ExportFormat.JSONL: "application/x-ndjson",
    ExportFormat.CSV: "text/csv",
}


def export_pieces(
    database: Database,
    wanted: AuditFilter,
    *,
    head: Head,
    signer: Signer,
    file_format: ExportFormat,
    at: datetime,
    batch: int = BATCH,
) -> Pieces:
    """Yield the file, one batch of events at a time.

    Args:
        head: The end of the exported chain; events linked later are left out.
        batch: Events per transaction.
    """
    digest, count = hashlib.sha256(), 0
    for piece, events in _batches(database, wanted, head=head, file_format=file_format, batch=batch):
        digest.update(piece)
        count += events
        yield piece
    trailer = {
        "at": at.astimezone(UTC).isoformat(timespec="microseconds"),
        "events": count,
        "sha256": digest.hexdigest(),
        "filter": {name: _plain(value) for name, value in asdict(wanted).items() if value is not None},
        "head": {"position": head.sequence, "hash": head.hash.hex()},
    }
    signed = canonical(signer.sign(trailer, context=AUDIT_EXPORT).to_json())
    yield b"#" + signed + b"\n" if file_format is ExportFormat.CSV else b'{"trailer":' + signed + b"}\n"


def _batches(
    database: Database, wanted: AuditFilter, *, head: Head, file_format: ExportFormat, batch: int
) -> Iterator[tuple[bytes, int]]:
    if file_format is ExportFormat.CSV:
        yield ",".join(COLUMNS).encode() + b"\n", 0
    position = 0
    while position < head.sequence:
        with database.read_only() as session:
            links = audit_log.links_after(session, position, up_to=head.sequence, wanted=wanted, limit=batch)
        if not links:
            return
        position = links[-1].position
        rows = [_row_of(link) for link in links]
        yield (_csv(rows) if file_format is ExportFormat.CSV else _jsonl(rows)), len(rows)


def _row_of(link: Link) -> dict[str, Any]:
    event = {} if link.event is None else link.event.to_json()
    row = event | {
        "position": link.position,
        "previous_hash": link.previous_hash.hex(),
        "hash": link.hash.hex(),
    }
    return {name: row.get(name) for name in COLUMNS}


def _jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def _csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.DictWriter(text, COLUMNS, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
