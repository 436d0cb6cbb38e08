"""Simulated tables with columns in an order: dates, ages, hours, amounts, a chain of three dates, years.

Every table has the ordered columns first, then a sex, a ward and a score that depend on them, then further columns of few words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
FIRST_DAY: Final = 19_358
"""2023-01-01, in days since 1970-01-01."""
DAYS: Final = 730


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulated:
    """A table.

    Args:
        document: its domain.
        values: one array of shape (rows,) for each column.
        pair: the two ordered columns that are scored.
    """

    document: dict[str, Any]
    values: list[Floats]
    pair: tuple[int, int]


def dates(rows: int, further: int) -> Simulated:
    """Admissions evenly in two years, and discharges four days later on average."""
    rng = np.random.default_rng([0, rows, further])
    first = rng.integers(0, DAYS, rows)
    second = first + rng.geometric(0.2, rows) - 1
    return _table(rng, {"a": _date(first), "b": _date(second)}, first / DAYS, further)


def chain(rows: int, further: int) -> Simulated:
    """Referrals, admissions 19 days later on average, discharges four days later."""
    rng = np.random.default_rng([1, rows, further])
    referred = rng.integers(0, DAYS, rows)
    first = referred + rng.geometric(0.05, rows) - 1
    second = first + rng.geometric(0.2, rows) - 1
    columns = {"referred": _date(referred), "a": _date(first), "b": _date(second)}
    return _table(rng, columns, referred / DAYS, further)


def ages(rows: int, further: int) -> Simulated:
    """The age today, and the age at a diagnosis about six years ago."""
    rng = np.random.default_rng([2, rows, further])
    now = np.clip(rng.normal(60, 18, rows), 0, 99).astype(np.int64)
    then = np.maximum(now - rng.exponential(6, rows).astype(np.int64), 0)
    return _table(rng, {"a": _number(then, 0, 99), "b": _number(now, 0, 99)}, now / 100, further)


def hours(rows: int, further: int) -> Simulated:
    """The beginning and the end of a visit of under an hour, in hundredths of hours."""
    rng = np.random.default_rng([3, rows, further])
    start = np.round(np.clip(rng.normal(12, 4, rows), 0, 22), 2)
    end = np.round(np.minimum(start + rng.exponential(0.8, rows), 24), 2)
    real = {"type": "real", "decimals": 2}
    columns = {"a": _number(start, 0, 24, **real), "b": _number(end, 0, 24, **real)}
    return _table(rng, columns, start / 24, further)


def amounts(rows: int, further: int) -> Simulated:
    """A total, and a part of it from nothing to all."""
    rng = np.random.default_rng([4, rows, further])
    total = np.clip(np.exp(rng.normal(6, 1.2, rows)), 1, 20_000).astype(np.int64)
    part = (total * rng.beta(2, 2, rows)).astype(np.int64)
    columns = {
        "a": _number(part, 0, 20_000, spacing="log"),
        "b": _number(total, 0, 20_000, spacing="log"),
    }
    return _table(rng, columns, np.log(total) / 10, further)


def years(rows: int, further: int) -> Simulated:
    """The year in which a house was built, and a later one in which it was sold, evenly."""
    rng = np.random.default_rng([5, rows, further])
    built = rng.integers(1950, 2021, rows)
    sold = built + (rng.random(rows) * (2021 - built)).astype(np.int64)
    columns = {"a": _number(built, 1950, 2020), "b": _number(sold, 1950, 2020)}
    return _table(rng, columns, (built - 1950) / 71, further)


TABLES: Final[Mapping[str, Callable[[int, int], Simulated]]] = {
    "dates": dates,
    "chain": chain,
    "ages": ages,
    "hours": hours,
    "amounts": amounts,
    "years": years,
}

_Column = tuple[dict[str, Any], npt.NDArray[Any]]


def _date(days: npt.NDArray[np.int64]) -> _Column:
    return {"kind": "date", "lower": "2023-01-01", "upper": "2025-06-30"}, days + FIRST_DAY


def _number(values: npt.NDArray[Any], lower: float, upper: float, **keys: object) -> _Column:
    return {"kind": "numeric", "type": "integer", "lower": lower, "upper": upper} | keys, values


def _words(codes: npt.NDArray[np.int64], count: int) -> _Column:
    return {"kind": "categorical", "categories": list("abcdef"[:count])}, codes


def _table(
    rng: np.random.Generator, ordered: Mapping[str, _Column], level: Floats, further: int
) -> Simulated:
    """The ordered columns, each at most the next, and the others; `level` is what these depend on, from 0 to 1."""
    rules = [{"kind": "at_most", "columns": list(both)} for both in pairwise(ordered)]
    return described(
        rng, ordered, level, rules=rules, pair=(len(ordered) - 2, len(ordered) - 1), further=further
    )


def described(
    rng: np.random.Generator,
    tied: Mapping[str, _Column],
    level: Floats,
    *,
    rules: list[dict[str, Any]],
    pair: tuple[int, int],
    further: int = 0,
) -> Simulated:
    """A table of columns that rules tie, and of others.

    Args:
        rng: of the table.
        tied: by name.
        level: what the others depend on, from 0 to 1.
        rules: of the tied columns.
        pair: see `Simulated`.
        further: number of columns of few words.
    """
    rows = len(level)
    sex = rng.integers(0, 2, rows)
    of_level = np.clip((level * 6).astype(np.int64), 0, 5)
    columns = dict(tied) | {
        "sex": _words(sex, 2),
        "ward": _words(np.where(rng.random(rows) < 0.5, of_level, rng.integers(0, 6, rows)), 6),
        "score": _number(np.clip(rng.normal(30 + 40 * level, 12), 0, 99).astype(np.int64), 0, 99),
    }
    for place in range(further):
        count = 2 + place % 5
        own = np.where(rng.random(rows) < 0.3, sex % count, rng.integers(0, count, rows))
        columns[f"further {place}"] = _words(own, count)
    return Simulated(
        document={
            "schema": "understudy.domain/1",
            "columns": [{"name": name} | column for name, (column, _) in columns.items()],
            "rules": rules,
        },
        values=[values.astype(np.float64) for _, values in columns.values()],
        pair=pair,
    )
