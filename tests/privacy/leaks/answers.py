"""Everything that the API answers to those who do not own the table, read and taken apart into single fields."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.privacy.leaks.stage import Stage
from tests.service.matrix import nobodys, operations
from tests.service.world import Caller

ROWS = 30
OPTIONS: dict[str, dict[str, Any]] = {
    "watch_job": {"params": {"longest_seconds": 0}},
    "draw_samples": {"params": {"rows": ROWS}},
    "export_dossier": {"params": {"format": "json"}},
}
READING = frozenset({"GET"})
# What destroys comes last; everything is tried by everybody, so most are refused, and refusals are answers too.
LAST = (
    "close_session",
    "rotate_key",
    "remove_endpoint",
    "revoke_grant",
    "remove_member",
    "revoke_key",
    "delete_dataset",
)
# Of all jobs of the stage, not of the one that succeeded alone.
JOBS = ("job_id", "failed", "cancelled")


@dataclass(frozen=True)
class Answer:
    """One answer.

    Args:
        caller: Who asked.
        operation: The name of the function that answered.
        about: Which object it was about, where a stage has several of the kind.
        status: Of HTTP.
        headers: In lower case.
        content: The body.
    """

    caller: str
    operation: str
    about: str
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """For people, and to look for words in."""
        return self.content.decode("utf-8", "replace")

    def fields(self) -> dict[str, Any]:
        """Every single field by its path; numbers of lists are dropped from paths, so values come in lists."""
        media = self.headers.get("content-type", "").partition(";")[0]
        found: dict[str, list[Any]] = {"status": [self.status]}
        for name, value in self.headers.items():
            found[f"header.{name}"] = [value]
        for path, value in _parsed(media, self.content):
            found.setdefault(path, []).append(value)
        return found


def callers(stage: Stage) -> dict[str, Caller]:
    """Everybody but the owner of the table."""
    world = stage.world
    return {
        "analyst": world.analyst, "auditor": stage.auditor, "admin": world.admin, "another analyst": stage.colleague,
        "another owner": world.stranger,
    }  # fmt: skip


def read_all(stage: Stage, *, only: Collection[str] = ()) -> list[Answer]:
    """Every GET of the document, asked by everybody but the owner, about every object of the stage.

    Args:
        stage: After the play.
        only: The names of the operations that are asked for; all where none is named.
    """
    ids = nobodys(stage.world.app) | stage.ids
    told = []
    for name, caller in callers(stage).items():
        for entry in operations(stage.world.app):
            if entry.method not in READING or (only and entry.name not in only):
                continue
            about = JOBS if "job_id" in entry.parameters else ("",)
            for each in about:
                chosen = ids | ({"job_id": stage.ids[each]} if each else {})
                method, path, options = entry.request(chosen)
                answer = caller.send(method, path, **(options | OPTIONS.get(entry.name, {})))
                told.append(
                    Answer(name, entry.name, each, answer.status_code, dict(answer.headers), answer.content)
                )
    return told


def change_all(stage: Stage) -> list[Answer]:
    """Every other operation of the document, likewise; what they change is the same on every stage."""
    found = [entry for entry in operations(stage.world.app) if entry.method not in READING]
    found.sort(key=lambda entry: LAST.index(entry.name) + 1 if entry.name in LAST else 0)
    ids = nobodys(stage.world.app) | stage.ids
    told = []
    for entry in found:
        for name, caller in callers(stage).items():
            method, path, options = entry.request(ids)
            if "Idempotency-Key" in options.get("headers", {}):
                options["headers"] = {"Idempotency-Key": f"{entry.name}-{name}"}
            answer = caller.send(method, path, **options)
            told.append(
                Answer(name, entry.name, "", answer.status_code, dict(answer.headers), answer.content)
            )
            stage.world.clock.advance(seconds=1)
    return told


def _parsed(media: str, content: bytes) -> Iterator[tuple[str, Any]]:
    if content:
        yield from _READERS.get(media, lambda body: iter([(f"body of {media}", body)]))(content)


def _lines(content: bytes) -> Iterator[tuple[str, Any]]:
    for line in content.decode().splitlines():
        yield from leaves(json.loads(line))


def _events(content: bytes) -> Iterator[tuple[str, Any]]:
    for line in content.decode().splitlines():
        name, _, value = line.partition(": ")
        if name == "data":
            yield from leaves(json.loads(value), "data")
        elif line:
            yield f"event.{name or 'comment'}", value


def _rows(content: bytes) -> Iterator[tuple[str, Any]]:
    for row in csv.DictReader(io.StringIO(content.decode())):
        yield from ((f"column.{name}", value) for name, value in row.items())


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of a JSON value with its path, such as ``items[].state``; what is empty is a leaf.

    The plan of a utility report names the release that it is about, so its digest is a field of its own.
    """
    if isinstance(value, dict) and value:
        for name, entry in value.items():
            told = f"{name} of a report" if name == "plan_digest" and value.get("kind") == "report" else name
            yield from leaves(entry, f"{path}.{told}" if path else str(told))
    elif isinstance(value, list) and value:
        for entry in value:
            yield from leaves(entry, f"{path}[]")
    else:
        yield path, value


def bundle_fields(content: bytes) -> Iterator[tuple[str, Any]]:
    """Every member of a bundle, what its directory says of it, and what is inside."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        yield "zip.comment", archive.comment
        for entry in archive.infolist():
            for fact in ("date_time", "comment", "extra", "create_system", "external_attr", "flag_bits"):
                yield f"zip.{entry.filename}.{fact}", getattr(entry, fact)
            member = archive.read(entry)
            if entry.filename.endswith(".json"):
                yield from leaves(json.loads(member), entry.filename)
            elif entry.filename.endswith(".onnx"):
                yield from _network(member)
            elif entry.filename.endswith(".safetensors"):
                size = int.from_bytes(member[:8], "little")
                yield from leaves(json.loads(member[8 : 8 + size]), entry.filename)
                yield f"{entry.filename} values", member[8 + size :]
            elif entry.filename == "counts.bin":
                line, _, cells = member.partition(b"\n")
                yield from leaves(json.loads(line), entry.filename)
                yield f"{entry.filename} cells", cells
            else:
                yield entry.filename, member.decode()


def _network(content: bytes) -> Iterator[tuple[str, Any]]:
    """An ONNX model, field by field as the format has them: what the exporter may have written anywhere is a field."""
    import onnx

    model = onnx.load_model_from_string(content)
    yield from _message(model, "generator.onnx")


def _message(message: Any, path: str) -> Iterator[tuple[str, Any]]:
    for field, value in message.ListFields():
        several = value if field.is_repeated else [value]
        inner = f"{path}.{field.name}" + ("[]" if field.is_repeated else "")
        for each in several:
            if field.message_type is not None:
                yield from _message(each, inner)
            else:
                yield inner, each


def _metrics(content: bytes) -> Iterator[tuple[str, Any]]:
    for line in content.decode().splitlines():
        if line.startswith("#"):
            yield "metrics.comment", line
        else:
            series, _, value = line.rpartition(" ")
            name, _, labels = series.partition("{")
            # A keyed digest of a fresh id.
            yield f"metrics.{name}", (re.sub(r'budget="\w+"', 'budget=""', labels), value)


_READERS: Final[Mapping[str, Callable[[bytes], Iterator[tuple[str, Any]]]]] = {
    "application/json": lambda content: leaves(json.loads(content)),
    "application/problem+json": lambda content: leaves(json.loads(content)),
    "application/x-ndjson": _lines,
    "text/event-stream": _events,
    "text/csv": _rows,
    "application/zip": bundle_fields,
    "text/plain": _metrics,
}
