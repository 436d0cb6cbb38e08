"""The private table and its declared domain as files, checked before anything is started or sent."""

import csv
import gzip
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from understudy.errors import InputUnusable
from understudy.http.uploads import CONTENT_TYPES, require_file
from understudy.near_names import nearest
from understudy.text_encoding import UTF8, UTF16, WINDOWS, as_utf8, begins_as_utf16

DECLARED_SIZE = "declared_size"
MARK = "_from_data"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """Files to publish.

    Attributes:
        domain: the domain document as the service takes it.
        declared_size: the public number of privacy units.
    """

    rows: Path
    domain: dict[str, Any]
    declared_size: int


def read_table_files(rows: Path, domain_file: Path, *, declared_size: int | None) -> TableFiles:
    """Check the files and find the declared size.

    The exact number of rows is private (adding one person changes it), and every formula uses the declared one. So
    it is never counted from the rows: it is given, or is in the domain file under ``declared_size``.

    Raises:
        InputUnusable: if a file is missing or of unknown format, the domain is an unconfirmed draft, no size is declared, or
            its columns are not the declared ones.
    """
    require_file(rows)
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
    _require_columns(rows, domain)
    return TableFiles(rows=rows, domain=without_notes(domain), declared_size=size)


def _require_columns(rows: Path, domain: Mapping[str, Any]) -> None:
    """Refuse a table whose columns are not the declared ones, before a service is started or asked.

    The service checks every file again. A name of the file is shown only where it is nearly a declared one: the first line of a file
    without a header holds values of a person. Blanks around a name do not count, as in intake (``core.data.intake.header``).
    """
    form: dict[str, Any] = {"delimiter": ",", "quote": '"', "header": True, "encoding": UTF8} | dict(
        domain.get("csv") or {}
    )
    declared = [str(column["name"]) for column in domain.get("columns") or () if "name" in column]
    names = _names_of(rows, form) if declared else None
    if names is None:
        return
    bare = {name.strip(): name for name in declared}
    found = [name if name in declared else bare.get(name.strip(), name) for name in names]
    missing = [name for name in declared if name not in found]
    others = [place for place, name in enumerate(found, 1) if name not in declared]
    if missing:
        raise InputUnusable(_lacking(rows, declared, found, missing))
    for name in declared:
        if found.count(name) > 1:
            first, second = [place for place, one in enumerate(found, 1) if one == name][:2]
            message = f"{rows.name}: its columns {first} and {second} are both {name!r}, blanks around a name aside; rename one"
            raise InputUnusable(message)
    if others:
        listed = ", ".join(map(str, others[:20])) + (", ..." if len(others) > 20 else "")  # noqa: PLR2004 - enough to find the others
        subject = (
            f"column {listed} of {rows.name} is"
            if len(others) == 1
            else f"columns {listed} of {rows.name} are"
        )
        message = f'{subject} not declared: declare every column, and give those that must not be used the kind "ignored"'
        raise InputUnusable(message)


def _names_of(rows: Path, form: Mapping[str, Any]) -> list[str] | None:
    """The names of the columns of a CSV or Parquet file; None where the file has none, or only the service can read it."""
    if is_parquet(rows):
        try:
            from pyarrow import ArrowException, parquet
        except ImportError:
            return None
        try:
            return list(parquet.read_schema(rows).names)
        except (ArrowException, OSError):
            return None
    if not form["header"]:
        return None
    try:
        return header_of(rows, delimiter=form["delimiter"], quote=form["quote"], encoding=form["encoding"])
    except UnicodeDecodeError:
        pass
    except (OSError, EOFError, LookupError, csv.Error, TypeError):
        return None
    raise not_decoded(
        rows, form["encoding"],
        advice='declare "encoding": "{encoding}" under "csv" of the domain, or draft it anew with `understudy domain draft`',
    )  # fmt: skip


def _lacking(rows: Path, declared: Sequence[str], found: Sequence[str], missing: Sequence[str]) -> str:
    """Error text for a table that lacks declared columns."""
    if len(missing) == len(declared):
        if is_parquet(rows):
            return f"{rows.name} has none of the declared columns. Is it another file?"
        return (
            f"{rows.name}: its first line names none of the declared columns. Is it another file, are its fields separated by another"
            ' sign than the "delimiter" under "csv" in the domain, or has it no header ("header": false)?'
        )
    others = [name for name in found if name not in declared]
    near = [nearest(name, others) for name in missing]
    named = "; ".join(
        f"{name!r} (is it {other!r}, column {found.index(other) + 1} of the file?)" if other else repr(name)
        for name, other in zip(missing, near, strict=True)
    )
    return f"{rows.name} lacks declared columns: {named}. Rename them in the file or in the domain, or take them out of the domain"


def marked(document: object) -> bool:
    """Return whether a document carries a mark of `understudy.drafts.tables` anywhere."""
    if isinstance(document, dict):
        return MARK in document or any(marked(member) for member in document.values())
    return isinstance(document, list) and any(marked(member) for member in document)


def without_notes(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without its notes (keys that begin with ``_``), which may say something about the rows."""
    cleaned = {key: value for key, value in document.items() if not key.startswith("_")}
    for key, value in cleaned.items():
        if isinstance(value, dict):
            cleaned[key] = {inner: item for inner, item in value.items() if not inner.startswith("_")}
    for listed in ("columns", "rules"):
        if isinstance(entries := cleaned.get(listed), list):
            cleaned[listed] = [
                {key: value for key, value in entry.items() if not key.startswith("_")}
                if isinstance(entry, dict)
                else entry
                for entry in entries
            ]
    return cleaned


def place_in(document: dict[str, Any], pointer: str) -> str:
    """Name the place of a JSON pointer in a domain document for a person: "column 'age', lower" or "rule 2 (at_most), columns"."""
    parts = pointer.strip("/").split("/")
    columns = document.get("columns")
    if parts[0] == "columns" and len(parts) > 1 and parts[1].isdecimal() and isinstance(columns, list):
        column = columns[int(parts[1])] if int(parts[1]) < len(columns) else None
        named = column.get("name") if isinstance(column, dict) else None
        where = f"column {int(parts[1]) + 1}" if named is None else f"column {named!r}"
        return ", ".join([where, *parts[2:3]])
    rules = document.get("rules")
    if parts[0] == "rules" and len(parts) > 1 and parts[1].isdecimal() and isinstance(rules, list):
        rule = rules[int(parts[1])] if int(parts[1]) < len(rules) else None
        kind = rule.get("kind") if isinstance(rule, dict) else None
        where = f"rule {int(parts[1]) + 1}" + (f" ({kind})" if isinstance(kind, str) else "")
        return ", ".join([where, *parts[2:3]])
    return parts[0] or "the document"


def line_in(text: str, pointer: str) -> int | None:
    """Return the line of a domain file, from 1 on, on which the value of a JSON pointer begins; None if it is not found."""
    place = 0
    for part in pointer.strip("/").split("/"):
        starts = _starts(text, place)
        if part not in starts:
            break
        place = starts[part]
    return text.count("\n", 0, place) + 1 if place else None


def _starts(text: str, place: int) -> dict[str, int]:
    """Where the members of the object or list at a place begin, by key or index."""
    decoder, found = json.JSONDecoder(), dict[str, int]()
    opening = text[(place := _skip(text, place)) : place + 1]
    if opening not in {"{", "["}:
        return found
    place = _skip(text, place + 1)
    while text[place : place + 1] not in {"}", "]", ""}:
        key = str(len(found))
        if opening == "{":
            key, place = decoder.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        found[key] = place
        _, place = decoder.raw_decode(text, place)
        place = _skip(text, place)
        place = _skip(text, place + 1) if text[place : place + 1] == "," else place
    return found


def _skip(text: str, place: int) -> int:
    while text[place : place + 1] and text[place] in " \t\r\n":
        place += 1
    return place


def read_domain(file: Path) -> dict[str, Any]:
    """Read a domain document.

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


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet does."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


@contextmanager
def opened(path: Path, encoding: str = UTF8) -> Iterator[Any]:
    """The bytes of a file, plain or gzipped, from its encoding in UTF-8, which is not checked if it is UTF-8 already."""
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if zipped:
            with gzip.open(raw) as file:
                yield as_utf8(cast("IO[bytes]", file), encoding)
        else:
            yield as_utf8(raw, encoding)


def header_of(path: Path, *, delimiter: str, quote: str | None, encoding: str = UTF8) -> list[str]:
    """The fields of the first record of a CSV file, plain or gzipped, of at most a megabyte.

    Raises:
        OSError, EOFError, UnicodeDecodeError, csv.Error: the file cannot be read so.
    """
    with opened(path, encoding) as file:
        line = file.readline(1 << 20).decode("utf-8-sig")
    rows = csv.reader(
        [line],
        delimiter=delimiter,
        quotechar=quote,
        quoting=csv.QUOTE_MINIMAL if quote is not None else csv.QUOTE_NONE,
    )
    return next(rows, [])


def not_decoded(path: Path, encoding: str | None, *, advice: str) -> InputUnusable:
    """The refusal of a CSV file in another encoding than the declared one, with a command that writes it in UTF-8.

    Args:
        path: the file, plain or gzipped.
        encoding: the declared encoding; None or UTF-8 if none is declared.
        advice: what to do with the likely ``{encoding}``.
    """
    if encoding not in {None, UTF8}:
        return InputUnusable(f"{path.name} is not in {encoding}, the declared encoding")
    with opened(path) as file:
        likely = UTF16 if begins_as_utf16(file.read(2)) else WINDOWS
    bare = path.name.removesuffix(".gz").removesuffix(".csv")
    read, written = shlex.quote(path.name), shlex.quote(f"{bare}-utf8.csv")
    convert = f"iconv -f {likely.upper()} -t UTF-8"
    command = (
        f"gunzip -c {read} | {convert} > {written}"
        if path.suffix == ".gz"
        else f"{convert} {read} > {written}"
    )
    written_as = "UTF-16" if likely == UTF16 else "Windows-1252, as of a spreadsheet"
    return InputUnusable(
        f"{path.name} is not UTF-8. If it is {written_as}, {advice.format(encoding=likely)}. Or this writes it anew:\n{command}"
    )
