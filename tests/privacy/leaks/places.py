"""Every place where a canary could turn up, as named texts and bytes to look through."""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan
from sqlalchemy import Connection, MetaData, select

from core.data.objects import ObjectStore
from tests.privacy.leaks.answers import Answer
from tests.privacy.leaks.stage import Stage

Things = Iterator[tuple[str, str | bytes]]

OWNERS_OWN: Final[Mapping[str, str]] = {
    "datasets.intake_report": "what the owner reads of the own upload; answered to nobody else, erased when the dataset is deleted",
    "waiting_rows.intake_report": "the same of rows that wait for the owner's decision; it moves or goes with them",
}
"""Columns in which counts of rows may stand in the clear, and why. Sealed columns need no line: nothing is found in them."""


def in_log(log: Path) -> Things:
    """The lines that the API, the worker and its children wrote."""
    yield from ((f"line {number}", line) for number, line in enumerate(log.read_text().splitlines()))


def in_spans(spans: Iterable[ReadableSpan]) -> Things:
    """What a collector of traces would get."""
    for span in spans:
        yield span.name, span.to_json()


def in_answers(answers: Iterable[Answer]) -> Things:
    """What everybody but the owner was told: heads, bodies, and the members of archives."""
    for answer in answers:
        name = f"{answer.operation} to {answer.caller}"
        yield name, json.dumps(answer.headers)
        if zipfile.is_zipfile(io.BytesIO(answer.content)):
            yield from _unpacked(name, answer.content)
        else:
            yield name, answer.text


def in_database(connection: Connection) -> Things:
    """Every cell of every table, under ``table.column``; those of OWNERS_OWN too."""
    known = MetaData()
    known.reflect(connection)
    for table in known.sorted_tables:
        for row in connection.execute(select(table)):
            # private: public in SQLAlchemy, which keeps plain names for columns
            for column, value in row._mapping.items():
                cell = (
                    value if isinstance(value, bytes) else json.dumps(value, default=str, ensure_ascii=False)
                )
                yield f"{table.name}.{column}", cell


def in_objects(store: ObjectStore) -> Things:
    """Everything in the object store, and the members of bundles."""
    for found in store.list(""):
        content = store.get_bytes(found.key)
        yield found.key, content
        if found.key.endswith(".zip"):
            yield from _unpacked(found.key, content)


def in_files(*folders: Path) -> Things:
    """The files below folders, with their names."""
    for folder in folders:
        for path in folder.rglob("*"):
            yield str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b""


def words_in_files(folder: Path, words: Iterable[str]) -> list[tuple[str, str]]:
    """Where words stand below a folder of a server; numbers are not looked for, because pages are full of them."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            found += [(str(path), word) for word in words if word.encode() in content]
    return found


def of(stage: Stage, answers: Iterable[Answer]) -> dict[str, list[tuple[str, str | bytes]]]:
    """All places of a stage, with the owner's own columns."""
    with stage.world.database.engine.connect() as connection:
        cells = list(in_database(connection))
    folder = stage.folder
    return {
        "log": list(in_log(stage.log)),
        "spans": list(in_spans(stage.exported.get_finished_spans())),
        "answers": list(in_answers(answers)),
        "database": cells,
        "objects": list(in_objects(stage.world.store)),
        "files": list(in_files(folder / "tmp", folder / "scratch", folder / "objects")),
    }


def _unpacked(name: str, content: bytes) -> Things:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            member = archive.read(entry)
            is_text = entry.filename.endswith((".json", ".md", ".py"))
            yield f"{name}/{entry.filename}", member.decode() if is_text else member
