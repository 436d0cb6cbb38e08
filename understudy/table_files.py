"""The private table and its declared domain as files, checked before anything is started or sent."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import InputUnusable
from understudy.uploads import CONTENT_TYPES

DECLARED_SIZE = "declared_size"
MARK = "_from_data"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """What to publish.

    Attributes:
        rows: the private rows.
        domain: the domain document as the service takes it.
        declared_size: the public number of privacy units.
    """

    rows: Path
    domain: dict[str, Any]
    declared_size: int


def read_table_files(rows: Path, domain_file: Path, *, declared_size: int | None) -> TableFiles:
    """Check the files and find the declared size.

    The exact number of rows is private (adding one person changes it), and every formula uses the declared one. So
    it is never counted from the rows: it is given, or stands in the domain file under ``declared_size``.

    Args:
        rows: the private rows.
        domain_file: the declared domain, JSON.
        declared_size: the public size, or None to take it from the domain file.

    Raises:
        InputUnusable: if a file is missing or of unknown format, the domain is an unconfirmed draft, or no size is
            declared.
    """
    if not rows.is_file():
        message = f"there is no file {rows}"
        raise InputUnusable(message)
    if rows.suffix.lower() not in CONTENT_TYPES:
        message = f"{rows.name}: the name must end in {', '.join(CONTENT_TYPES)} so that the format is known"
        raise InputUnusable(message)
    domain = read_domain(domain_file)
    if marked(domain):
        message = (
            f"{domain_file} is a draft: it still lists values that come from the rows under {MARK!r}, and a domain is "
            f"public. Go through them with: understudy domain confirm {domain_file}"
        )
        raise InputUnusable(message)
    size = domain.pop(DECLARED_SIZE, None) if declared_size is None else declared_size
    domain.pop(DECLARED_SIZE, None)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        message = (
            f'no declared size: give --declared-size N, or write "{DECLARED_SIZE}": N into {domain_file}. It is the '
            "number of people or records you are willing to make public, a round number near the truth; the exact "
            "number of rows is private and is therefore never taken from the file"
        )
        raise InputUnusable(message)
    return TableFiles(rows=rows, domain=without_notes(domain), declared_size=size)


def marked(document: object) -> bool:
    """Return whether a document carries a mark of `understudy.domain_draft` anywhere.

    Args:
        document: parsed JSON.
    """
    if isinstance(document, dict):
        return MARK in document or any(marked(member) for member in document.values())
    return isinstance(document, list) and any(marked(member) for member in document)


def without_notes(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without its notes (keys that begin with ``_``), which may say something about the rows."""
    cleaned = {key: value for key, value in document.items() if not key.startswith("_")}
    for key, value in cleaned.items():
        if isinstance(value, dict):
            cleaned[key] = {inner: item for inner, item in value.items() if not inner.startswith("_")}
    if isinstance(columns := cleaned.get("columns"), list):
        cleaned["columns"] = [
            {key: value for key, value in column.items() if not key.startswith("_")}
            if isinstance(column, dict)
            else column
            for column in columns
        ]
    return cleaned


def read_domain(file: Path) -> dict[str, Any]:
    """Read a domain document.

    Args:
        file: the JSON file.

    Raises:
        InputUnusable: if it cannot be read as a JSON object.
    """
    try:
        document = json.loads(file.read_text())
    except FileNotFoundError:
        message = f"there is no file {file}; `understudy domain draft ROWS` writes a draft"
        raise InputUnusable(message) from None
    except (OSError, ValueError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        message = f"{file} is not readable JSON{where}"
        raise InputUnusable(message) from None
    if not isinstance(document, dict):
        message = f"{file} must hold a JSON object, the declared domain"
        raise InputUnusable(message)
    return document
