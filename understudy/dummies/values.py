"""Fake values of a declared domain: uniform draws, column by column, from the declaration and nothing else.

A column with a declared difference is the column from which it starts plus a uniform draw of the distance. Rules between columns are not kept.
"""

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from operator import ge, gt, le, lt
from typing import Any, Final

from understudy.documents import Json
from understudy.dummies.time_grids import WRITABLE, moment_of, seconds_of, time_grid
from understudy.errors import InputUnusable
from understudy.near_names import suggestion

_COINS: Final = secrets.SystemRandom()
_RARE: Final = 0.1
"""Share of missing values, and of special ones, where the column has them."""
_NAMED: Final = 8
_LEARNT_WORDS: Final = 5
"""Made-up categories of a column whose categories are learnt."""
_ENDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"from": ge, "above": gt, "to": le, "below": lt}
_TRIES_PER_ROW: Final = 1000
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


def fake_columns(domain: Json) -> tuple[FakeColumn, ...]:
    """Read the modelled columns of a table's domain.

    Raises:
        InputUnusable: it cannot be read; the message names the column.
    """
    columns = domain.get("columns")
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


def _ends(column: Json, *, otherwise: tuple[Any, Any]) -> tuple[Any, Any]:
    """The bounds of a column; where they are learnt and none are declared, bounds that cannot be mistaken for real ones."""
    if column.get("bounds") == "learn":
        return column.get("lower", otherwise[0]), column.get("upper", otherwise[1])
    edges = column.get("edges") or (column["lower"], column["upper"])
    return edges[0], edges[-1]


def _numeric(column: Json) -> Read:
    edges = _ends(column, otherwise=(0, 100))
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
    if listed == "learn":
        listed, other = [f"category {place + 1}" for place in range(_LEARNT_WORDS)], column.get("other", True)
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
    clock = "" if is_date else "T00:00:00"
    grid = time_grid(column, _ends(column, otherwise=(f"2000-01-01{clock}", f"2029-12-31{clock}")))

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


def require_condition(columns: tuple[FakeColumn, ...], where: Json) -> str | None:
    """Return what is wrong with a condition, or None."""
    known = {column.name: column for column in columns}
    for name, value in where.items():
        if name not in known:
            return f"There is no modelled column '{name}'{suggestion(name, list(known)) or '.'}"
        words = known[name].words
        wanted = (
            [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
        )
        if isinstance(value, dict) and not (wanted and value.keys() <= _ENDS.keys()):
            return f"A range of column '{name}' has the ends 'from' or 'above', and 'to' or 'below'."
        if not wanted:
            return f"The condition on column '{name}' has no value."
        is_number = known[name].kind in {"integer", "real"}
        if is_number and isinstance(value, dict) and not all(map(_is_number, wanted)):
            return f"The ends of a range of column '{name}' are numbers, such as 65."
        if words and any(one is not None and str(one) not in words for one in wanted):
            named = ", ".join(repr(word) for word in words[:_NAMED])
            further = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
            return f"The column '{name}' cannot have this value; it has {named}{further}."
    return None


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float | str) and math.isfinite(float(value))
    except (ValueError, OverflowError):
        return False


def fake_rows(columns: tuple[FakeColumn, ...], rows: int, where: Json) -> list[dict[str, Any]]:
    """Draw fake rows under a condition; fewer where hardly a row meets a range.

    Fixed columns have their value, and columns with a difference lie so far apart.
    """
    ordered = _starts_first(columns)
    ranges = {name: value for name, value in where.items() if isinstance(value, dict)}
    made: list[dict[str, Any]] = []
    for _ in range(rows * _TRIES_PER_ROW if ranges else rows):
        fixed = {
            name: _COINS.choice(value) if isinstance(value, list) else value
            for name, value in where.items()
            if name not in ranges
        }
        row = _fake_row(columns, ordered, fixed)
        if all(_is_within(row[column.name], column, ranges.get(column.name)) for column in columns):
            made.append(row)
        if len(made) == rows:
            break
    return made


def _is_within(value: Any, column: FakeColumn, wanted: Json | None) -> bool:  # noqa: ANN401 - a value of the column
    """Whether a value lies in a range. Of dates and times the text is compared, as far as the end of the range is written."""
    if wanted is None:
        return True
    if value is None:
        return False
    return all(_ENDS[name](*_comparable(value, column, end)) for name, end in wanted.items())


def _comparable(value: Any, column: FakeColumn, end: Any) -> tuple[Any, Any]:  # noqa: ANN401 - values of the column
    if column.words:
        return column.words.index(value), column.words.index(str(end))
    if column.kind in {"date", "datetime"}:
        text = value.isoformat() if hasattr(value, "isoformat") else str(value)
        return text[: len(str(end))], str(end)
    return value, float(end)


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
