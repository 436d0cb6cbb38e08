"""Simulated tables with a column that is the sum of two others: days of pupils, prices, hours of work, heads, incomes.

Every table has the two parts and the total first, then a sex, a ward and a score that depend on the total. A number that many rows have, a
heap, is declared as a special value, as a draft does.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.declarations.ordered_tables import Simulated, described

Floats = npt.NDArray[np.float64]


def days(rows: int) -> Simulated:
    """Days that pupils attend and miss. The year has 179 or 180 days, and few pupils leave before its end."""
    rng = np.random.default_rng([0, rows])
    stays = rng.random(rows) < 0.85
    total = np.where(stays, 179 + rng.integers(0, 2, rows), 180 - rng.geometric(0.012, rows) % 180)
    absent = np.minimum(rng.gamma(1.8, 8.0, rows).astype(np.int64), total)
    return _table(
        rng,
        [
            _number("present", total - absent, 0, 180),
            _number("absent", absent, 0, 120, spacing="log"),
            _number("enrolled", total, 0, 180, specials=[179, 180]),
        ],
    )


def prices(rows: int) -> Simulated:
    """Net amounts and their tax of 19 or 7 %. Seven of ten customers pay one of eight prices."""
    rng = np.random.default_rng([1, rows])
    listed = np.array([4.99, 9.99, 14.99, 19.99, 29.99, 49.99, 79.99, 99.99])
    paid = rng.choice(listed, rows, p=[0.08, 0.2, 0.1, 0.2, 0.16, 0.14, 0.06, 0.06])
    gross = np.where(rng.random(rows) < 0.7, paid, np.round(np.exp(rng.normal(3.2, 1.0, rows)), 2))
    gross = np.clip(gross, 0.5, 400)
    rate = np.where(rng.random(rows) < 0.8, 0.19, 0.07)
    tax = np.round(gross * rate / (1 + rate) * np.where(rng.random(rows) < 0.5, 1, rng.random(rows)), 2)
    real = {"type": "real", "decimals": 2}
    return _table(
        rng,
        [
            _number("net", np.round(gross - tax, 2), 0, 400, spacing="log", **real),
            _number("tax", tax, 0, 80, spacing="log", **real),
            _number("gross", gross, 0, 400, specials=listed.tolist(), spacing="log", **real),
        ],
    )


def hours(rows: int) -> Simulated:
    """Regular hours of a week, mostly 40, and overtime, mostly none, in quarters of an hour."""
    rng = np.random.default_rng([2, rows])
    regular = rng.choice([20.0, 30.0, 35.0, 40.0], rows, p=[0.1, 0.08, 0.07, 0.75])
    overtime = np.where(rng.random(rows) < 0.45, np.round(4 * rng.gamma(1.5, 3.0, rows)) / 4, 0.0)
    overtime = np.minimum(overtime, 30)
    real = {"type": "real", "decimals": 2}
    return _table(
        rng,
        [
            _number("regular", regular, 0, 45, specials=[20, 30, 35, 40], **real),
            _number("overtime", overtime, 0, 30, specials=[0], **real),
            _number("worked", regular + overtime, 0, 75, specials=[20, 30, 35, 40], **real),
        ],
    )


def heads(rows: int) -> Simulated:
    """Boys and girls of school classes. Four of ten classes are full, with 25 or 30 children."""
    rng = np.random.default_rng([3, rows])
    every = np.where(rng.random(rows) < 0.4, rng.choice([25, 30], rows), rng.binomial(40, 0.55, rows))
    boys = rng.binomial(every, 0.51)
    return _table(
        rng,
        [
            _number("boys", boys, 0, 40),
            _number("girls", every - boys, 0, 40),
            _number("children", every, 0, 40, specials=[25, 30]),
        ],
    )


def incomes(rows: int) -> Simulated:
    """Wages and profits, of which many rows have none, and the income, which is smooth."""
    rng = np.random.default_rng([4, rows])
    employed = rng.random(rows) < 0.7
    wage = np.where(employed, np.exp(rng.normal(10.2, 0.6, rows)), 0)
    wage = np.where(rng.random(rows) < 0.15, np.round(wage, -4), wage)
    profit = np.where(~employed | (rng.random(rows) < 0.1), np.exp(rng.normal(9.5, 1.0, rows)), 0)
    wage, profit = (np.minimum(part, 150_000).astype(np.int64) for part in (wage, profit))
    return _table(
        rng,
        [
            _number("wage", wage, 0, 150_000, specials=[0], spacing="log"),
            _number("profit", profit, 0, 150_000, specials=[0], spacing="log"),
            _number("income", wage + profit, 0, 300_000, spacing="log"),
        ],
    )


TABLES: Final[Mapping[str, Callable[[int], Simulated]]] = {
    "days": days,
    "prices": prices,
    "hours": hours,
    "heads": heads,
    "incomes": incomes,
}

_Column = tuple[str, tuple[dict[str, Any], npt.NDArray[Any]]]


def _number(name: str, values: npt.NDArray[Any], lower: float, upper: float, **keys: object) -> _Column:
    return name, ({"kind": "numeric", "type": "integer", "lower": lower, "upper": upper} | keys, values)


def _table(rng: np.random.Generator, summed: list[_Column]) -> Simulated:
    """The parts and the total, and the others, which depend on the total's rank."""
    *parts, (total, (_, values)) = summed
    level = np.argsort(np.argsort(values, kind="stable"), kind="stable") / len(values)
    rule = {"kind": "sum", "parts": [name for name, _ in parts], "total": total}
    return described(rng, dict(summed), level, rules=[rule], pair=(0, 2))
