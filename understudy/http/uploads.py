"""Files of rows before they are sent: their formats, and the hidden note that names the upload of a large file."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from understudy.errors import InputUnusable, Refused

RESUMABLE_FROM_BYTES = 64 << 20
POLL_SECONDS = 1.0
PART_ATTEMPTS = 3
FIRST_SERVER_ERROR = 500
TOO_MANY_REQUESTS = 429
# After these the service keeps the upload, and a later attempt may succeed.
PASSING = frozenset({"quota-exceeded", "service-busy", "share-used-up", "upload-incomplete"})
LIVE = frozenset({"open", "completing", "completed"})
FORM = "understudy.upload/1"
CONTENT_TYPES: Mapping[str, str] = {
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".parquet": "application/vnd.apache.parquet",
    ".zip": "application/zip",
    ".npz": "application/x-npz",
}


def require_file(rows: Path) -> None:
    """Refuse what is no file, and say of a folder how its pictures become one.

    Raises:
        InputUnusable: if there is no such file.
    """
    if rows.is_dir():
        message = f"{rows} is a folder: put it into a ZIP; where its pictures have labels, one folder a label, or labels.csv (columns file,label) beside them"
        raise InputUnusable(message)
    if not rows.is_file():
        message = f"there is no file {rows}"
        raise InputUnusable(message)


def content_type_of(rows: Path) -> str:
    """Return the content type of a file.

    Raises:
        InputUnusable: if there is no such file, or its name does not show its format.
    """
    require_file(rows)
    kind = CONTENT_TYPES.get(rows.suffix.lower())
    if kind is None:
        message = f"{rows.name}: the name must end in {', '.join(CONTENT_TYPES)} so that the format is known"
        raise InputUnusable(message)
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadNote:
    """The upload that a file belongs to; stored in the file's folder, so that another process can resume it.

    Attributes:
        dataset_id: the dataset of the rows.
        size: bytes of the file.
        modified_ns: modification time of the file.
        declaration: digest of what the dataset was declared as; empty if the caller gave none.
    """

    url: str
    dataset_id: str
    upload_id: str
    size: int
    modified_ns: int
    declaration: str = ""

    @classmethod
    def read(cls, rows: Path, *, url: str) -> Self | None:
        """Return the note of a file if it names this service and matches the file's present size and modification time."""
        try:
            document = json.loads(note_of(rows).read_text())
            if document.pop("schema") != FORM:
                return None
            found = cls(**document)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return found if (found.url, found.size, found.modified_ns) == (url, *stamp(rows)) else None

    def write(self, rows: Path) -> None:
        """Write the note into the file's folder. If the folder is read-only, only this process can resume."""
        with suppress(OSError):
            note_of(rows).write_text(json.dumps({"schema": FORM} | asdict(self), indent=2) + "\n")


def note_of(rows: Path) -> Path:
    """Return the path of a file's note."""
    return rows.with_name(f".{rows.name}.understudy-upload")


def forget(rows: Path) -> None:
    """Remove the note of a file."""
    with suppress(OSError):
        note_of(rows).unlink(missing_ok=True)


def stamp(rows: Path) -> tuple[int, int]:
    """Return the size in bytes and the modification time in nanoseconds of a file."""
    facts = rows.stat()
    return facts.st_size, facts.st_mtime_ns


def passes(refusal: Refused) -> bool:
    """Return whether a refusal may pass, so that the upload can be resumed later."""
    return (
        refusal.status >= FIRST_SERVER_ERROR or refusal.status == TOO_MANY_REQUESTS or refusal.code in PASSING
    )
