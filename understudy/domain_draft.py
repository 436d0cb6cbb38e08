"""A first draft of a table's domain, made on the owner's machine from the owner's file.

A domain is public, but a draft is not: its bounds, categories and even its kinds come from the rows. Every value
taken from the data is therefore also listed under ``_from_data``, and the service refuses a domain that still carries
such a mark. The owner reviews each marked value, edits what would reveal something about a person (a single very old
patient, a rare diagnosis), and deletes the marks. Bounds are widened to round numbers, but stay marked.

Needs pyarrow (``pip install 'understudy[offline]'``). The whole file is read once, in constant memory.
"""

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

from understudy.errors import InputUnusable, NotInstalled
from understudy.table_facts import Dialect, Facts, batches_of, is_parquet, read_dialect

SCHEMA = "understudy.domain/1"
MARK = "_from_data"
NOTE = "_note"

MOST_CODES = 1_000_000
"""Codes of all columns together up to which the service trains by its rules; it refuses wider orders."""
_BINS = 32
_MOST_CATEGORIES = 60
_FEW_INTEGERS = 2
_SPIKE_SHARE = 0.2
_FEWEST_ROWS_FOR_IDS = 20
_WIDE_RANGE = 32
_FEW_DAYS, _DAYS_OF_MONTH = 2, 31
_PATTERN_CODES = {"hour": 24, "weekday": 7, "month": 12}
_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TRUE_WORDS = {"true", "yes", "y", "t"}
_FALSE_WORDS = {"false", "no", "n", "f"}


def draft_domain(path: Path, *, header: bool | None = None, delimiter: str | None = None) -> dict[str, Any]:
    """Draft the domain document of a CSV (also gzipped) or Parquet file.

    Args:
        path: The private rows.
        header: Whether the first line names the columns; None to guess (always marked).
        delimiter: The character between fields; None to guess.

    Returns:
        A document that ``TableDomain.from_json`` refuses until its marks are removed.

    Raises:
        InputUnusable: the file is missing, empty, not UTF-8 or not readable.
        NotInstalled: pyarrow is missing.
    """
    try:
        import pyarrow as pa
    except ImportError:
        message = "drafting a domain needs pyarrow: pip install 'understudy[offline]'"
        raise NotInstalled(message) from None
    if not path.is_file():
        message = f"there is no file {path}"
        raise InputUnusable(message)
    try:
        dialect, names = (None, []) if is_parquet(path) else read_dialect(path, header, delimiter)
        facts: dict[str, Facts] = {}
        rows = 0
        for batch in batches_of(path, dialect, names):
            rows += batch.num_rows
            for name in batch.schema.names:
                facts.setdefault(name, Facts()).look(batch.column(name))
    except UnicodeDecodeError:
        message = f"{path.name} is not UTF-8; save it as UTF-8"
        raise InputUnusable(message) from None
    except (pa.ArrowException, OSError, EOFError):
        message = f"{path.name} cannot be read as CSV (plain or gzip) or Parquet"
        raise InputUnusable(message) from None
    if rows == 0:
        message = f"{path.name} has no rows"
        raise InputUnusable(message)
    return _document(facts, rows, dialect)


def render_draft(draft: dict[str, Any]) -> str:
    """The draft as JSON text for a person: one key per line, lists on one line."""
    columns = ",\n".join("  " + _render(column, 2) for column in draft["columns"])
    rest = {key: value for key, value in draft.items() if key != "columns"}
    head = _render(rest, 0)[:-2]  # without the closing brace
    return f'{head},\n "columns": [\n{columns}\n ]\n}}\n'


def codes_at_most(draft: dict[str, Any]) -> int:
    """An upper bound on the codes of all columns of a draft; the service counts exactly."""
    return sum(_codes_of(column) for column in draft["columns"] if column["kind"] != "ignored")


def _codes_of(column: dict[str, Any]) -> int:
    if column["kind"] == "boolean":
        codes = 2
    elif column["kind"] == "categorical":
        codes = len(column["categories"]) + bool(column.get("other"))
    elif column["kind"] == "numeric" and (column["type"] == "integer" or "decimals" in column):
        points = (column["upper"] - column["lower"]) * 10 ** column.get("decimals", 0) + 1
        codes = min(_BINS, math.ceil(points)) + len(column.get("specials", ()))
    else:
        codes = _BINS + len(column.get("specials", ()))
    missing = column.get("null") == "category"
    return codes + missing + sum(_PATTERN_CODES[pattern] + missing for pattern in column.get("patterns", ()))


def _render(value: dict[str, Any], indent: int) -> str:
    pad = " " * (indent + 1)
    lines = ",\n".join(f"{pad}{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
    return "{\n" + lines + "\n" + " " * indent + "}"


def _document(facts: dict[str, Facts], rows: int, dialect: Dialect | None) -> dict[str, Any]:
    draft: dict[str, Any] = {
        "schema": SCHEMA,
        NOTE: "A draft: check every value listed under _from_data, edit it, then delete the _from_data keys.",
        "target": None,
        "privacy_unit": None,
        "declared_size": nice_size(rows),
    }
    marked = ["declared_size"]
    if dialect is not None:
        nulls = sorted({""}.union(*(fact.null_texts for fact in facts.values())))
        draft["csv"] = {
            "delimiter": dialect.delimiter,
            "header": dialect.header,
            "null_values": nulls,
            "strip_spaces": any(fact.blanks for fact in facts.values()),
            MARK: [*dialect.guessed, "null_values", "strip_spaces"],
        }
    draft[MARK] = marked
    draft["columns"] = [_column(name, fact) for name, fact in facts.items()]
    return draft


def _column(name: str, fact: Facts) -> dict[str, Any]:
    start: dict[str, Any] = {"name": name}
    column = start | _kind(fact)
    if column["kind"] != "ignored" and fact.present < fact.rows:
        column["null"] = "category"
    taken = [key for key in column if key != NOTE]
    return column | {MARK: taken}


def _kind(fact: Facts) -> dict[str, Any]:
    if not fact.readable:
        return {"kind": "ignored", NOTE: "Nested or binary values cannot be modelled."}
    if fact.present == 0:
        return {"kind": "ignored", NOTE: "The column is empty."}
    looks_unique = fact.unique and fact.present >= _FEWEST_ROWS_FOR_IDS
    if fact.formats and not (fact.numeric and fact.formats == {"%Y%m%d"} and not _plausible(fact)):
        return _times(fact)
    if fact.numeric and not (looks_unique and fact.whole):
        return _numbers(fact)
    if looks_unique:
        return {"kind": "ignored", NOTE: "Every value differs: an identifier? It must not be modelled."}
    return _words(fact)


def _plausible(fact: Facts) -> bool:
    return fact.earliest.year >= 1900 and fact.latest.year <= 2100 and fact.decimals == 0  # noqa: PLR2004


def _times(fact: Facts) -> dict[str, Any]:
    names = sorted(fact.formats, key=lambda name: ({"date": 0, "datetime": 1}.get(name, 2), name))
    lower, upper = fact.earliest.date(), fact.latest.date()
    lower, upper = lower.replace(day=1), upper.replace(month=12, day=31)
    if names[0] == "datetime":
        return {
            "kind": "datetime",
            "lower": f"{lower}T00:00:00",
            "upper": f"{upper}T23:59:59",
            "resolution": fact.clock,
        } | _patterns(lower, upper, fact.clock)
    column: dict[str, Any] = {"kind": "date", "lower": str(lower), "upper": str(upper), "resolution": "day"}
    column |= _patterns(lower, upper, "day")
    if names[0] == "date":
        return column
    note = {NOTE: f"Could also be {' or '.join(names[1:])}."} if len(names) > 1 else {}
    return column | {"format": names[0]} | note


def _patterns(lower: date, upper: date, resolution: str) -> dict[str, list[str]]:
    """The patterns of the calendar that default bins between two days do not show."""
    bin_days = ((upper - lower).days + 1) / _BINS
    hidden = {
        "hour": resolution in {"second", "minute", "hour"},
        "weekday": bin_days > _FEW_DAYS,
        "month": bin_days > _DAYS_OF_MONTH,
    }
    found = [pattern for pattern, is_hidden in hidden.items() if is_hidden]
    return {"patterns": found} if found else {}


def _numbers(fact: Facts) -> dict[str, Any]:
    if fact.whole and fact.decimals == 0 and fact.counts is not None and len(fact.counts) <= _FEW_INTEGERS:
        return {"kind": "categorical", "categories": sorted(fact.counts, key=float)}
    lower, upper = _nice_bounds(fact.lower, fact.upper)
    column: dict[str, Any] = {
        "kind": "numeric",
        "type": "integer" if fact.whole else "real",
        "lower": lower,
        "upper": upper,
    }
    if not fact.whole and fact.decimals <= 4:  # noqa: PLR2004 (more digits are measurements, not a format)
        column["decimals"] = fact.decimals
    if (
        fact.zeros > _SPIKE_SHARE * fact.present
        and fact.zeros < fact.present
        and fact.upper - fact.lower > _WIDE_RANGE
    ):
        column["specials"] = [0]
    return column


def _words(fact: Facts) -> dict[str, Any]:
    if fact.counts is None or len(fact.counts) > _MOST_CATEGORIES:
        return {
            "kind": "ignored",
            NOTE: 'Many different texts. List the common ones as categories with "other": true; or, if this says '
            "whose record it is, make it kind 'unit' and name it in privacy_unit.",
        }  # fmt: skip
    words = sorted(fact.counts)
    lowered = [word.lower() for word in words]
    if len(words) == 2 and {word in _TRUE_WORDS for word in lowered} == {True, False}:  # noqa: PLR2004
        true = next(word for word in words if word.lower() in _TRUE_WORDS)
        false = next(word for word in words if word.lower() not in _TRUE_WORDS)
        if false.lower() in _FALSE_WORDS:
            return {"kind": "boolean", "true": true, "false": false}
    return {"kind": "categorical", "categories": words, "other": False}


def _nice_bounds(lower: float, upper: float) -> tuple[float | int, float | int]:
    """Bounds widened to multiples of 1, 2 or 5 times a power of ten, about a twentieth of the range."""
    span = (upper - lower) or max(abs(upper), 1.0)
    power = 10.0 ** math.floor(math.log10(span / 20))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span / 20)
    step = max(step, 1.0) if float(lower).is_integer() and float(upper).is_integer() else step
    low, high = math.floor(lower / step) * step, math.ceil(upper / step) * step
    return _plain(low), _plain(high if high > low else low + step)


def _plain(value: float) -> float | int:
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() else rounded


def nice_size(rows: int) -> int:
    """The number of rows to one significant digit."""
    power = int(10 ** (len(str(rows)) - 1))
    return max(1, round(rows / power)) * power
