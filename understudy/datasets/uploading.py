"""Sending a large file in parts, so that an interruption costs one part and not the file.

The flow is written once, as a generator without network: it yields requests and pauses, and both clients carry them
out. Which upload belongs to a file stands in a small file next to it, so that another process can go on: only parts
that the service does not have are sent, and every part of the file is compared by its digest.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from understudy.calls import Call
from understudy.datasets import calls
from understudy.datasets.results import IntakeReport, Upload
from understudy.errors import InputUnusable, NotFound, Refused

RESUMABLE_FROM_BYTES = 64 << 20
POLL_SECONDS = 1.0
PART_ATTEMPTS = 3
FIRST_SERVER_ERROR = 500
TOO_MANY_REQUESTS = 429
# The service keeps the upload after these: they may be gone at the next attempt.
PASSING = frozenset({"quota-exceeded", "service-busy", "share-used-up", "upload-incomplete"})
LIVE = frozenset({"open", "completing", "completed"})
FORM = "understudy.upload/1"

Seen = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is to be sent for a while.

    Attributes:
        seconds: how long.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Done:
    """The rows are stored.

    Attributes:
        report: the intake report.
    """

    report: IntakeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """An upload that a file belongs to, as it stands next to the file.

    Attributes:
        url: address of the service.
        dataset_id: where the rows go.
        upload_id: the upload.
        size: bytes of the file.
        modified_ns: when the file was last changed.
        declaration: what the dataset was declared as, by whoever declared it; empty if nobody says.
    """

    url: str
    dataset_id: str
    upload_id: str
    size: int
    modified_ns: int
    declaration: str = ""

    @classmethod
    def recall(cls, rows: Path, *, url: str) -> Self | None:
        """Give what stands next to a file, if it is about this file as it is now and this service.

        Args:
            rows: the file.
            url: address of the service.
        """
        try:
            document = json.loads(place_of(rows).read_text())
            if document.pop("schema") != FORM:
                return None
            found = cls(**document)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        facts = rows.stat()
        same = (found.url, found.size, found.modified_ns) == (url, facts.st_size, facts.st_mtime_ns)
        return found if same else None

    def write(self, rows: Path) -> None:
        """Write it next to the file; where that is not possible, only this process can go on.

        Args:
            rows: the file.
        """
        with suppress(OSError):
            place_of(rows).write_text(json.dumps({"schema": FORM} | asdict(self), indent=2) + "\n")


def place_of(rows: Path) -> Path:
    """Say where it stands which upload a file belongs to.

    Args:
        rows: the file.
    """
    return rows.with_name(f".{rows.name}.understudy-upload")


def forget(rows: Path) -> None:
    """Remove what stands next to a file.

    Args:
        rows: the file.
    """
    with suppress(OSError):
        place_of(rows).unlink(missing_ok=True)


Step = Call[Any] | Pause
Flow = Generator[Step, Any, IntakeReport]


class UploadSteps:
    """The flow, advanced by whoever can send."""

    def __init__(self, flow: Flow) -> None:
        """Take the flow.

        Args:
            flow: as made by `upload_flow`.
        """
        self._flow = flow

    def after(self, answer: object) -> Step | Done:
        """Give what comes next.

        Args:
            answer: the result of the last call, None at first and after a pause; or the error that it met.
        """
        try:
            return self._flow.throw(answer) if isinstance(answer, Refused) else self._flow.send(answer)
        except StopIteration as end:
            return Done(end.value)


def upload_flow(
    *,
    url: str,
    dataset_id: str,
    rows: Path,
    seen: Seen,
    declaration: str = "",
    max_refused: float | None = None,
) -> Flow:
    """Send a file in parts: begin or go on, send what is missing, wait until the rows are taken in.

    Args:
        url: address of the service.
        dataset_id: the dataset.
        rows: the file.
        seen: told the number of bytes of each part that is at the service.
        declaration: remembered with the upload.
        max_refused: the share of refused rows above which they wait for the owner's decision; None for the service's.

    Raises:
        InputUnusable: if the file changed while it was sent.
        Refused: if the service said no.
    """
    before = _stamp(rows)
    upload = yield from _begin(url, dataset_id, rows, declaration)
    whole = hashlib.sha256()
    with rows.open("rb") as file:
        for number in range(1, upload.parts_total + 1):
            content = file.read(upload.part_bytes)
            whole.update(content)
            if upload.state == "open":
                yield from _bring(upload, number, content, rows)
            seen(len(content))
    if upload.state == "open" and _stamp(rows) != before:
        # Parts of two files would be taken in as one.
        yield from _give_up(upload, rows)
    try:
        complete = calls.complete_upload(upload.id, sha256=whole.hexdigest(), max_refused=max_refused)
        while (report := (yield complete)) is None:
            yield Pause(POLL_SECONDS)
    except Refused as refusal:
        if not _passes(refusal):
            forget(rows)
        raise
    forget(rows)
    return IntakeReport.from_json(report)


def _passes(refusal: Refused) -> bool:
    return (
        refusal.status >= FIRST_SERVER_ERROR or refusal.status == TOO_MANY_REQUESTS or refusal.code in PASSING
    )


def _begin(url: str, dataset_id: str, rows: Path, declaration: str) -> Generator[Step, Any, Upload]:
    known = Remembered.recall(rows, url=url)
    if known is not None and known.dataset_id == dataset_id:
        with suppress(NotFound):
            upload: Upload = yield calls.read_upload(known.upload_id)
            if upload.state in LIVE:
                return upload
    facts = rows.stat()
    started: Upload = yield calls.start_upload(dataset_id, rows, size=facts.st_size)
    Remembered(
        url=url,
        dataset_id=dataset_id,
        upload_id=started.id,
        size=facts.st_size,
        modified_ns=facts.st_mtime_ns,
        declaration=declaration,
    ).write(rows)
    return started


def _stamp(rows: Path) -> tuple[int, int]:
    facts = rows.stat()
    return facts.st_size, facts.st_mtime_ns


def _give_up(upload: Upload, rows: Path) -> Generator[Step, Any, None]:
    forget(rows)
    yield calls.abort_upload(upload.id)
    message = f"{rows} has changed since its upload began; upload it again"
    raise InputUnusable(message)


def _bring(upload: Upload, number: int, content: bytes, rows: Path) -> Generator[Step, Any, None]:
    digest = hashlib.sha256(content).digest()
    there = upload.parts.get(number)
    if there == digest.hex():
        return
    if there is not None:
        yield from _give_up(upload, rows)
    announced = f"sha-256=:{base64.b64encode(digest).decode()}:"
    for attempt in range(1, PART_ATTEMPTS + 1):
        try:
            yield calls.put_part(upload.id, number, content, digest=announced)
        except Refused as refusal:
            # Changed on its way; anything else would be said again.
            if refusal.code != "digest-differs" or attempt == PART_ATTEMPTS:
                raise
        else:
            return
