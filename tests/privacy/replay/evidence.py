"""All that one job leaves where anybody but the data's owner could look, and how two jobs' leavings are compared.

Randomness is frozen and the clock stands still (see `deployment`), so ids, keys, salts, hashes and the ledger's times
are equal by themselves and are compared like everything else. Only what the two tables below name is masked.
"""

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import text

from core.db.session import Database
from tests.privacy.seam import Call

OWNERS_COLUMNS = {
    ("datasets", "intake_report"): "the owner's report: rows kept, changed and refused",
    ("datasets", "stored_bytes"): "size of the owner's sealed rows, counted against the owner's quota",
    ("waiting_rows", "intake_report"): "the owner's report on rows that wait for the owner's decision",
    ("waiting_rows", "stored_bytes"): "size of the owner's sealed rows, counted against the owner's quota",
    ("uploads", "declared_bytes"): "size of the owner's file, as the owner announced it",
    ("uploads", "sha256"): "digest of the owner's file",
    ("upload_parts", "size_bytes"): "size of a piece of the owner's file",
    ("upload_parts", "sha256"): "digest of a piece of the owner's file",
}
"""The columns of the database that may differ between neighbours: facts about the file that its owner sent."""

WALL_CLOCK = {
    '"timestamp"': "when a line was logged: the logger reads the machine's clock",
    '"milliseconds"': "how long a request took",
    "understudy_http_request_seconds_bucket": "how long requests took",
    "understudy_http_request_seconds_sum": "how long requests took",
    "_created": "when a counter was made",
}
"""Parts of log lines and of metrics that are readings of the machine's clock. No test can compare them; the number of
lines, of requests and of everything else in them is compared."""

SEALED_ROWS = ("datasets/", "uploads/")
"""Folders of the object store whose sealed objects belong to the owner: their names are compared, their bytes and sizes
are not, since they hold the rows. All other objects are compared to the byte."""


@dataclass
class Evidence:
    """What one job left.

    Attributes:
        tables: At each moment, every row of every table, masked: {moment: {table: rows}}.
        writes: Every statement that wrote to the database, in order, without parameters.
        marks: Progress as it was marked: (stage, step, total).
        logs: Every line that service, worker and training child logged or printed, masked.
        messages: What was sent over the broker.
        objects: Every write to and deletion from the object store, in order: (what, key, digest or "sealed rows").
        names: Keys of all objects at the end.
        answers: What the service answered to everybody but the owner: (who, path, status, headers, body).
        metrics: The text of the metrics, masked.
        outcomes: How each attempt ended.
        seam: Every call at the seam with its shapes.
    """

    tables: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    marks: list[tuple[str, int, int]] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    objects: list[tuple[str, str, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    answers: list[tuple[str, str, int, dict[str, str], bytes]] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    outcomes: list[int] = field(default_factory=list)
    seam: list[Call] = field(default_factory=list)


def differences(one: Evidence, other: Evidence) -> list[str]:
    """The names of the channels in which two jobs differ; none if nothing tells them apart."""
    return [each.name for each in fields(Evidence) if getattr(one, each.name) != getattr(other, each.name)]


def explained(one: Evidence, other: Evidence) -> str:
    """The first difference of every channel that has one, for the message of a failed test."""
    found = []
    for name in differences(one, other):
        left, right = getattr(one, name), getattr(other, name)
        if isinstance(left, dict):
            left, right = flat(left), flat(right)
        pairs = ((a, b) for a, b in zip(left, right, strict=False) if a != b)
        found.append(f"{name}: {apart(next(pairs, (len(left), len(right))))}")
    return "\n".join(found)


def apart(pair: tuple[Any, Any]) -> str:
    """The two texts from a little before they part."""
    one, other = (repr(each) for each in pair)
    parting = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    start = max(0, parting - 60)
    return f"...{one[start : start + 160]} / ...{other[start : start + 160]}"


def flat(tables: dict[str, dict[str, list[Any]]]) -> list[Any]:
    """Every row with its moment and table."""
    return [
        (when, name, row) for when, all_of in tables.items() for name, rows in all_of.items() for row in rows
    ]


def every_row(database: Database) -> dict[str, list[Any]]:
    """All rows of all tables there are, whether the code knows them or not, in a fixed order, the owner's masked."""
    found: dict[str, list[Any]] = {}
    with database.read_only() as session:
        names = session.execute(
            text("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1")
        )
        for (table,) in names.all():
            rows = session.execute(
                text(f'SELECT * FROM "{table}"')
            ).mappings()  # names come from the catalogue
            found[table] = sorted(json.dumps(masked_row(table, row), default=str) for row in rows)
    return found


def masked_row(table: str, row: Any) -> dict[str, Any]:
    return {
        column: "the owner's" if (table, column) in OWNERS_COLUMNS and value is not None else plain(value)
        for column, value in row.items()
    }


def plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def masked_log(printed: str) -> list[str]:
    """Lines with the readings of the machine's clock replaced."""
    return [
        re.sub(r'("timestamp"|"milliseconds"): ("[^"]*"|\d+)', r"\1: _", line)
        for line in printed.splitlines()
    ]


def masked_metrics(exposed: str) -> list[str]:
    """Lines without the values of those that read the machine's clock."""
    clocked = [name for name in WALL_CLOCK if not name.startswith('"')]
    return [
        line.rpartition(" ")[0]
        if any(name in line for name in clocked) and not line.startswith("#")
        else line
        for line in exposed.splitlines()
    ]


def opened_message(raw: bytes) -> Any:
    """A broker's message as JSON, without the address for answers, which names the sender's memory."""
    message = json.loads(raw)
    message["properties"].pop("reply_to")
    message["body"] = base64.b64decode(message["body"]).decode()
    return message


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
