"""Fake values of a declared domain: uniform draws, column by column, from the declaration and nothing else.

A column with a declared difference is the column from which it starts plus a uniform draw of the distance. Rules between columns are not kept.
"""

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

from understudy.documents import Json
from understudy.dummies.time_grids import WRITABLE, moment_of, seconds_of, time_grid
from understudy.errors import InputUnusable
from understudy.near_names import suggestion

_COINS: Final = secrets.SystemRandom()
_RARE: Final = 0.1
"""Share of missing values, and of special ones, where the column has them."""
_LEARNT: Final = frozenset({"bounds", "bins", "categories"})
_LEARNT_WORDS: Final = 5
"""Made-up categories of a column whose categories are learnt."""
_LEFT_OUT: Final = frozenset({"ignored", "unit"})

_DAY: Final = len("2024-05-31")

Draw = Callable[[], Any]
Move = Callable[[Any], Any]
Read = tuple[str, tuple[str, ...], Draw]


@dataclass(frozen=True, slots=True)
class FakeColumn:
    """A modelled column.

    Attributes:
        kind: "integer", "real", "text", "boolean", "date" or "datetime": what its values are.
        words: all values of a column of text.
        draw: draws one value; None is a missing one.
        format: of the text of a date or time in CSV; None for ISO 8601.
        start: the column from which its declared difference is counted, or None.
        end: of a column with a difference: draws one value for that of `start`, inside its own bounds.
        begin: the same the other way round: draws a value of `start` for one of this column.
    """

    name: str
    kind: str
    words: tuple[str, ...]
    draw: Draw
    format: str | None = None
    start: str | None = None
    end: Move | None = None
    begin: Move | None = None


def settled(domain: Json) -> Json:
    """Return a domain with made-up words and bounds, which cannot be mistaken for real ones, in place of those that are learnt."""
    columns = domain.get("columns")
    if not isinstance(columns, list):
        return domain
    return {
        **domain,
        "columns": [_settled(column) if isinstance(column, dict) else column for column in columns],
    }


def _settled(column: Json) -> Json:
    found = {key: value for key, value in column.items() if key not in _LEARNT or value != "learn"}
    if isinstance(difference := column.get("difference"), dict) and difference.get("bins") == "learn":
        found["difference"] = {key: value for key, value in difference.items() if key != "bins"}
    if column.get("categories") == "learn":
        words = [f"category {place + 1}" for place in range(_LEARNT_WORDS)]
        return {"other": True, **found, "categories": words}
    if column.get("bounds") == "learn":
        clock = "T00:00:00" if column.get("kind") == "datetime" else ""
        ends = (0, 100) if column.get("kind") == "numeric" else (f"2000-01-01{clock}", f"2029-12-31{clock}")
        return {"lower": ends[0], "upper": ends[1], **found}
    return found


def fake_columns(domain: Json) -> tuple[FakeColumn, ...]:
    """Read the modelled columns of a table's domain.

    Raises:
        InputUnusable: it cannot be read; the message names the column.
    """
    columns = settled(domain).get("columns")
    if not isinstance(columns, list):
        message = "the domain has no list of columns"
        raise InputUnusable(message)
    modelled = {
        place: column
        for place, column in enumerate(columns, start=1)
        if not isinstance(column, dict) or column.get("kind") not in _LEFT_OUT
    }
    by_name = {column.get("name"): column for column in modelled.values() if isinstance(column, dict)}
    return tuple(_readable(column, place, by_name) for place, column in modelled.items())


def _readable(column: Json, place: int, by_name: Mapping[Any, Json]) -> FakeColumn:
    """Read a column; an error names it, and the key where one is missing."""
    try:
        return _column(column, by_name)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        named = column.get("name") if isinstance(column, dict) else None
        where = f"column {place} of the domain" if named is None else f"the column {named!r} of the domain"
        kind = column.get("kind") if isinstance(column, dict) else None
        if kind is not None and kind not in _READERS:
            message = f"{where} has an unknown kind{suggestion(str(kind), list(_READERS))}"
        elif isinstance(error, KeyError):
            message = f"{where} has no {error.args[0]!r}"
        else:
            message = f"{where} cannot be read: compare its values with docs/domain.md"
        raise InputUnusable(message) from None


def _column(column: Json, by_name: Mapping[Any, Json]) -> FakeColumn:
    kind, words, draw = _READERS[column["kind"]](column)
    may_miss = column.get("null") == "category"
    written = column.get("format") if kind in {"date", "datetime"} else None
    if written is not None and not WRITABLE.fullmatch(written):
        written = None
    fake = FakeColumn(column["name"], kind, words, _or_missing(draw) if may_miss else draw, written)
    if (difference := column.get("difference")) is None:
        return fake
    start = by_name[difference["from"]]
    apart = _distance(column, difference)
    second = 1 if column["kind"] == "numeric" else seconds_of(column)
    begun, ended = _mover(start, second), _mover(column, second)

    def end(value: Any) -> Any:  # noqa: ANN401 - a value of the column
        missed = may_miss and start.get("null") != "category" and _COINS.random() < _RARE
        return None if value is None or missed else ended(value, apart())

    return replace(fake, start=start["name"], end=end, begin=lambda value: begun(value, -apart()))


def _or_missing(draw: Draw) -> Draw:
    return lambda: None if _COINS.random() < _RARE else draw()


def _distance(column: Json, difference: Json) -> Draw:
    """Draws the distance of two values, in whole units unless they are real numbers."""
    is_real = column.get("type") == "real"
    ends = difference.get("edges") or (difference.get("lower", 0), difference["upper"])
    as_number = {"type": "real" if is_real else "integer", "decimals": column.get("decimals")}
    return _numeric(
        {**as_number, "lower": ends[0], "upper": ends[-1], "specials": difference.get("specials")}
    )[2]


def _mover(column: Json, unit: int) -> Callable[[Any, float], Any]:
    """A value of a column so far from another one, moved to the bounds of the column where it lies beyond; times are so many times `unit` seconds apart."""
    edges = column.get("edges") or (column["lower"], column["upper"])
    if column["kind"] == "numeric":
        digits = column.get("decimals")

        def add(value: Any, apart: float) -> Any:  # noqa: ANN401
            found = min(max(float(value) + apart, float(edges[0])), float(edges[-1]))
            return (
                int(found)
                if column["type"] == "integer"
                else found
                if digits is None
                else round(found, digits)
            )

        return add
    grid, is_date = time_grid(column, (edges[0], edges[-1])), column["kind"] == "date"

    def shift(value: Any, apart: float) -> Any:  # noqa: ANN401
        start = moment_of(str(value)[:_DAY] if is_date else str(value))
        found = grid.from_then_on(start + timedelta(seconds=unit * apart))
        return found.date() if is_date else found

    return shift


def _ends(column: Json) -> tuple[Any, Any]:
    edges = column.get("edges") or (column["lower"], column["upper"])
    return edges[0], edges[-1]


def _numeric(column: Json) -> Read:
    edges = _ends(column)
    lower, upper, specials = float(edges[0]), float(edges[1]), tuple(column.get("specials") or ())
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise ValueError
    integer = column["type"] == "integer"
    is_continuous = not integer and column.get("decimals") is None
    scale = 1 if integer or is_continuous else 10 ** int(column["decimals"])
    first, last = _whole_ticks(lower, upper, scale)
    step = round(float(column.get("multiple_of", 1 / scale)) * scale)

    def ordinary() -> float:
        if is_continuous:
            return _COINS.uniform(lower, upper)
        return step * _COINS.randint(-(-first // step), last // step) / scale

    def draw() -> float:
        special = bool(specials) and _COINS.random() < _RARE
        found = _COINS.choice(specials) if special else ordinary()
        return int(found) if integer else float(found)

    return "integer" if integer else "real", (), draw


def _whole_ticks(lower: float, upper: float, scale: int) -> tuple[int, int]:
    """The first and the last multiple of `1 / scale` within bounds; the product of a bound and the scale may be rounded beyond it."""
    first, last = round(lower * scale), round(upper * scale)
    return first + (first / scale < lower), last - (last / scale > upper)


def _labels(column: Json) -> Read:
    listed, other = column.get("categories") or column["levels"], column.get("other", False)
    words = [str(word) for word in listed]
    if other is not False:
        words.append("other" if other is True else str(other))
    return "text", tuple(words), lambda: _COINS.choice(words)


def _boolean(column: Json) -> Read:
    words = (str(column.get("false", "false")), str(column.get("true", "true")))
    if words == ("false", "true"):
        return "boolean", (), lambda: _COINS.random() < 1 / 2
    return "text", words, lambda: _COINS.choice(words)


def _time(column: Json) -> Read:
    is_date = column["kind"] == "date"
    grid = time_grid(column, _ends(column))

    def draw() -> date:
        moment = grid.moment(_COINS.randrange(grid.count))
        return moment.date() if is_date else moment

    return column["kind"], (), draw


_READERS: Final[Mapping[str, Callable[[Json], Read]]] = {
    "numeric": _numeric,
    "categorical": _labels,
    "ordinal": _labels,
    "boolean": _boolean,
    "date": _time,
    "datetime": _time,
}


def fake_rows(columns: tuple[FakeColumn, ...], given: Sequence[Json]) -> list[dict[str, Any]]:
    """Draw one fake row for each of some rows whose values are given for some columns.

    Columns with a difference lie so far apart.
    """
    ordered = _starts_first(columns)
    return [_fake_row(columns, ordered, row) for row in given]


def _fake_row(columns: tuple[FakeColumn, ...], ordered: list[FakeColumn], where: Json) -> dict[str, Any]:
    row = dict(where)
    if where:
        for column in reversed(ordered):
            # The start of a difference whose end is fixed.
            if row.get(column.name) is not None and column.start not in {None, *row}:
                row[str(column.start)] = None if column.begin is None else column.begin(row[column.name])
    for column in ordered:
        if column.name not in row:
            row[column.name] = column.draw() if column.end is None else column.end(row[str(column.start)])
    return {column.name: row[column.name] for column in columns}


def _starts_first(columns: tuple[FakeColumn, ...]) -> list[FakeColumn]:
    """The columns, those from which differences start before the others."""
    by_name = {column.name: column for column in columns}
    depth = dict.fromkeys(by_name, 0)
    for name, column in by_name.items():
        start = column.start
        while start in by_name and depth[name] < len(columns):
            start, depth[name] = by_name[start].start, depth[name] + 1
    return sorted(columns, key=lambda column: depth[column.name])
