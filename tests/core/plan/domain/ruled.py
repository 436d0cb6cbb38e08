"""Domains with rules, and a checker of rules that shares nothing with the code that keeps them."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from core.plan.domain.table import TableDomain

Row = Mapping[str, Any]


def number(name: str, lower: float = 0, upper: float = 100, **keys: object) -> dict[str, Any]:
    return {"name": name, "kind": "numeric", "type": "integer", "lower": lower, "upper": upper} | keys


def real(name: str, lower: float = 0, upper: float = 100, **keys: object) -> dict[str, Any]:
    return number(name, lower, upper, **keys) | {"type": "real"}


def words(name: str, *listed: str, **keys: object) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "categories": list(listed)} | keys


def day(name: str, lower: str = "2020-01-01", upper: str = "2021-12-31", **keys: object) -> dict[str, Any]:
    return {"name": name, "kind": "date", "lower": lower, "upper": upper} | keys


def moment(name: str, lower: str, upper: str, **keys: object) -> dict[str, Any]:
    return {"name": name, "kind": "datetime", "lower": lower, "upper": upper} | keys


def flag(name: str, **keys: object) -> dict[str, Any]:
    return {"name": name, "kind": "boolean"} | keys


def document(
    columns: Sequence[dict[str, Any]], rules: Sequence[dict[str, Any]], **keys: object
) -> dict[str, Any]:
    return {"schema": "understudy.domain/1", "columns": list(columns), "rules": list(rules)} | keys


FLAGS = [f"flag {place}" for place in range(40)]

EVERY_RULE: dict[str, dict[str, Any]] = {
    "impossible": document(
        [words("sex", "f", "m"), words("pregnant", "yes", "no", null="category"), number("age")],
        [
            {
                "kind": "impossible",
                "columns": ["sex", "pregnant", "age"],
                "combinations": [["m", {"one_of": ["yes", None]}, {"from": 0}], ["f", "yes", {"to": 9}]],
            }
        ],
    ),
    "possible": document(
        [
            number("age", 0, 110, specials=[999]),
            {"name": "stage", "kind": "ordinal", "levels": ["a", "b", "c", "d"]},
        ],
        [
            {
                "kind": "possible",
                "columns": ["age", "stage"],
                "combinations": [[{"to": 17}, {"to": "b"}], [{"from": 18}, {"from": "c"}], [999, "a"]],
            }
        ],
    ),
    "at_most": document(
        [
            day("admitted", resolution="week", null="category"),
            day("discharged", "2020-06-15", "2022-03-01", resolution="month"),
            real("low", specials=[-1]),
            real("high", decimals=1, lower=20),
        ],
        [
            {"kind": "at_most", "columns": ["admitted", "discharged"]},
            {"kind": "at_most", "columns": ["low", "high"]},
        ],
    ),
    "sum": document(
        [
            real("net", decimals=2),
            real("tax", 0, 30, decimals=2, specials=[0]),
            real("gross", 0, 110, decimals=1, null="category"),
        ],
        [{"kind": "sum", "parts": ["net", "tax"], "total": "gross", "tolerance": 0.05}],
    ),
    "null_together": document(
        [
            day("died", null="category"),
            words("cause", "x", "y", null="category"),
            number("hour", 0, 23, null="category"),
        ],
        [{"kind": "null_together", "columns": ["died", "cause", "hour"]}],
    ),
    "exactly_one": document([flag(name) for name in FLAGS], [{"kind": "exactly_one", "columns": FLAGS}]),
    "duration": document(
        [
            day("admitted", null="category"),
            day("discharged", "2020-01-01", "2022-02-01", resolution="week"),
            number("stay", 0, 60, specials=[-1]),
        ],
        [{"kind": "duration", "columns": ["admitted", "discharged", "stay"], "unit": "day"}],
    ),
    "determines": document(
        [words("city", "Ulm", "Bonn", "Trier", "Hof", other=True), words("land", "BW", "NRW", "RP", "BY")],
        [
            {
                "kind": "determines",
                "columns": ["city", "land"],
                "pairs": [["Ulm", "BW"], ["Bonn", "NRW"], [{"one_of": ["Trier"]}, "RP"], ["Hof", "BY"]],
            }
        ],
    ),
}
"""A domain for every kind of rule."""

TOGETHER: dict[str, Any] = document(
    [
        number("a", 0, 60, null="category"),
        number("b", 0, 60, null="category"),
        number("c", 0, 100, null="category"),
        number("cap", 0, 120, bins=7),
        words("kind", "small", "large", "none"),
        flag("f", true="1", false="0"),
        flag("g", true="1", false="0"),
        words("group", "p", "q", null="category"),
    ],
    [
        {"kind": "sum", "parts": ["a", "b"], "total": "c"},
        {"kind": "at_most", "columns": ["c", "cap"]},
        {"kind": "null_together", "columns": ["a", "b", "c"]},
        {
            "kind": "determines",
            "columns": ["cap", "kind"],
            "pairs": [[{"to": 30}, "small"], [{"from": 31}, "large"]],
        },
        {"kind": "exactly_one", "columns": ["f", "g"], "set": "1"},
        {
            "kind": "possible",
            "columns": ["f", "group"],
            "combinations": [["1", "p"], ["0", "q"], ["0", None]],
        },
        {"kind": "impossible", "columns": ["kind", "g"], "combinations": [["small", True]]},
    ],
    target="kind",
)
"""All kinds, tied to each other."""

DAYS_AND_TIMES: dict[str, Any] = document(
    [
        day("born", "2019-06-01", "2020-08-01", resolution="month", null="category"),
        moment(
            "admitted", "2020-01-05T07:00:00", "2020-12-31T20:30:00", resolution="minute", null="category"
        ),
        day("discharged", "2019-12-20", "2021-02-01"),
    ],
    [
        {"kind": "at_most", "columns": ["born", "admitted"]},
        {"kind": "at_most", "columns": ["admitted", "discharged"]},
    ],
)
"""Dates and times in one order."""

COMPUTED: dict[str, Any] = document(
    [
        number("present", 0, 180),
        number("absent", 0, 120, spacing="log", null="category"),
        number("enrolled", 0, 180, specials=[179, 180, 999]),
    ],
    [{"kind": "sum", "parts": ["present", "absent"], "total": "enrolled", "computed": "present"}],
)
"""A sum of which a part is computed."""

COMPUTED_CHAIN: dict[str, Any] = document(
    [
        real("net", decimals=2, specials=[0]),
        real("tax", 0, 30, decimals=2),
        real("gross", 0, 130, decimals=2, null="category"),
        real("fee", 0, 20, decimals=2),
        real("bill", 0, 150, decimals=2, specials=[49.99, 99.99]),
        real("cap", 0, 60, decimals=2),
        real("tip", 0, 60, decimals=2),
        words("band", "low", "high"),
    ],
    [
        {"kind": "sum", "parts": ["fee", "gross"], "total": "bill", "computed": "gross"},
        {"kind": "sum", "parts": ["net", "tax"], "total": "gross", "computed": "net", "tolerance": 0.01},
        {"kind": "sum", "parts": ["fee", "cap"], "total": "tip", "computed": "tip"},
        {"kind": "at_most", "columns": ["tax", "net"]},
        {"kind": "at_most", "columns": ["cap", "bill"]},
        {
            "kind": "determines",
            "columns": ["gross", "band"],
            "pairs": [[{"to": 50}, "low"], [{"from": 50.01}, "high"]],
        },
    ],
)
"""Sums that share columns, with orders and a code book of what they compute."""

DURATIONS: dict[str, Any] = document(
    [
        day("born", "1930-01-01", "2015-12-31", null="category"),
        moment("admitted", "2020-01-05T07:00:00", "2020-12-31T20:30:00", resolution="minute"),
        day("discharged", "2020-01-01", "2021-02-01", difference={"from": "admitted", "upper": 40}),
        moment("seen", "2020-01-05T07:00:00", "2020-12-31T20:30:00", resolution="second", null="category"),
        number("age", 0, 95, specials=[-1], null="category"),
        number("stay", 0, 30),
        number("wait", -9000, 9000, null="category"),
        words("band", "short", "long"),
        number("longer", 0, 60),
    ],
    [
        {"kind": "duration", "columns": ["born", "admitted", "age"], "unit": "year"},
        {
            "kind": "determines",
            "columns": ["stay", "band"],
            "pairs": [[{"to": 3}, "short"], [{"from": 4}, "long"]],
        },
        {"kind": "duration", "columns": ["admitted", "discharged", "stay"], "unit": "day"},
        {"kind": "duration", "columns": ["admitted", "seen", "wait"], "unit": "hour"},
        {"kind": "at_most", "columns": ["stay", "longer"]},
    ],
)
"""Durations in three units, with a list of codes, an order and a difference beside them."""

ALL = EVERY_RULE | {
    "durations": DURATIONS,
    "together": TOGETHER,
    "days and times": DAYS_AND_TIMES,
    "computed": COMPUTED,
    "computed chain": COMPUTED_CHAIN,
}


def broken(domain: Mapping[str, Any], row: Row) -> list[int]:
    """Places of the rules that a decoded row breaks; by the document alone."""
    columns = {column["name"]: column for column in domain["columns"]}
    return [place for place, rule in enumerate(domain["rules"]) if not _keeps(rule, row, columns)]


def _keeps(rule: Mapping[str, Any], row: Row, columns: Mapping[str, dict[str, Any]]) -> bool:
    kind = rule["kind"]
    if kind == "sum":
        values = [row[name] for name in (*rule["parts"], rule["total"])]
        exempt = any(_exempt(columns[name], row[name]) for name in (*rule["parts"], rule["total"]))
        return exempt or abs(sum(values[:-1]) - values[-1]) <= rule.get("tolerance", 0) + 1e-9
    names = rule["columns"]
    values = [row[name] for name in names]
    if kind in {"at_most", "duration"}:
        holds = _is_in_order(values) if kind == "at_most" else _lasts(values, rule["unit"])
        return holds or any(_exempt(columns[name], row[name]) for name in names)
    if kind == "null_together":
        return len({value is None for value in values}) == 1
    if kind == "exactly_one":
        wanted = rule.get("set", True)
        each = wanted if isinstance(wanted, list) else [wanted] * len(names)
        told = zip(names, values, each, strict=True)
        return sum(_word(columns[name], value) == _word(columns[name], one) for name, value, one in told) == 1
    if kind == "determines":
        return all(
            not _meets(columns[names[0]], values[0], key) or _meets(columns[names[1]], values[1], value)
            for key, value in rule["pairs"]
        )
    met = any(
        all(
            _meets(columns[name], value, test) for name, value, test in zip(names, values, tests, strict=True)
        )
        for tests in rule["combinations"]
    )
    return met if kind == "possible" else not met


def _is_in_order(values: Sequence[Any]) -> bool:
    """Whether the first value is at most the second; a date and a time are compared by day."""
    if None in values:
        return True
    if len({isinstance(value, datetime) for value in values}) > 1:
        values = [value.date() if isinstance(value, datetime) else value for value in values]
    return bool(values[0] <= values[1])


def _lasts(values: Sequence[Any], unit: str) -> bool:
    """Whether the third value is the time from the first to the second."""
    return None in values or values[2] == _apart(values[0], values[1], unit)


def _apart(start: date, end: date, unit: str) -> int:
    """The whole units from one date or time to another."""
    if unit in {"second", "minute", "hour"}:
        return (end - start) // timedelta(**{f"{unit}s": 1})
    first, last = (value.date() if isinstance(value, datetime) else value for value in (start, end))
    if unit == "day":
        return (last - first).days
    return last.year - first.year - ((last.month, last.day) < (first.month, first.day))


def _exempt(column: Mapping[str, Any], value: Any) -> bool:
    return value is None or not _comparable(column, column["lower"]) <= value <= _comparable(
        column, column["upper"]
    )


def _comparable(column: Mapping[str, Any], value: Any) -> Any:
    if column["kind"] == "date":
        return date.fromisoformat(value)
    if column["kind"] == "datetime":
        return datetime.fromisoformat(value)
    return column["levels"].index(value) if column["kind"] == "ordinal" else value


def _word(column: Mapping[str, Any], value: Any) -> Any:
    if column["kind"] != "boolean" or not isinstance(value, bool):
        return value
    return column.get(str(value).lower(), str(value).lower())


def _meets(column: Mapping[str, Any], value: Any, test: Any) -> bool:
    if isinstance(test, dict) and "one_of" in test:
        return any(_meets(column, value, one) for one in test["one_of"])
    if isinstance(test, dict):
        if "not" in test or value is None or (column["kind"] == "numeric" and _exempt(column, value)):
            return "not" in test and value is not None
        found = _comparable(column, value) if column["kind"] == "ordinal" else value
        low = _comparable(column, test["from"]) if "from" in test else found
        high = _comparable(column, test["to"]) if "to" in test else found
        return low <= found <= high
    if test is None or value is None:
        return test is value
    if column["kind"] in ("date", "datetime"):
        return value == _comparable(column, test)
    return _word(column, value) == _word(column, test)


def ruled(name: str) -> TableDomain:
    return TableDomain.from_json(EVERY_RULE[name])
