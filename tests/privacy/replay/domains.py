"""Random declared domains - numbers and kinds of columns, policies for everything odd - and tables over them."""

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from core.data.intake.intake import CSV, GZIP, PARQUET
from core.plan.domain.table import TableDomain

PERSON = "person"
ODD = (
    "", "NaN", "nan", "inf", "-inf", "Infinity", "1e308", "-1e308", "1e400", "99999999999999999999", "-0", "0.5", "3.7",
    "much", "Z\u00fcrich", "?", " 4 ", "2020-02-30", "9999-12-31", "0001-01-01", "2020-06-15T12:00:00Z", "tRUE", "null", "0x10",
    "'; DROP TABLE jobs", "\u0661", "a\u0301", "=1+1", "x" * 300,
)  # fmt: skip
"""Cells that no column declares: missing, not a number, infinite, huge, of a new category, of no date there is."""

Entry = dict[str, Any]
Cell = Callable[[np.random.Generator], str]


@st.composite
def nulls(draw: st.DrawFn, stand_in: Any) -> Any:
    return draw(st.sampled_from(["refuse", "category", {"use": stand_in}]))


@st.composite
def numeric(draw: st.DrawFn, name: str) -> tuple[Entry, Cell]:
    lower, span = draw(st.integers(-50, 50)), draw(st.integers(1, 200))
    kind = draw(st.sampled_from(["integer", "real"]))
    null = draw(nulls(lower))
    rules = ["clamp", "refuse"] if null == "refuse" else ["clamp", "refuse", "null"]
    unreadable = [rule for rule in rules if rule != "clamp"]
    entry: Entry = {
        "name": name, "kind": "numeric", "type": kind, "lower": lower, "upper": lower + span, "null": null,
        "outside": draw(st.sampled_from(rules)), "infinite": draw(st.sampled_from(rules)),
        "unreadable": draw(st.sampled_from(unreadable)),
    }  # fmt: skip
    learnt = draw(st.sampled_from([None, None, "bins", "bounds", "both"]))
    if learnt is not None:
        entry |= {"bins": "learn", "most": draw(st.integers(4, 9))} if learnt != "bounds" else {}
        if learnt != "bins":
            entry["bounds"] = "learn"
            entry |= {"outside": "clamp", "null": "category" if isinstance(null, dict) else null}
            if draw(st.booleans()):
                del entry["lower"], entry["upper"]
    elif draw(st.booleans()):
        entry["edges"] = [lower, lower + span / 2 if kind == "real" else lower + span // 2, lower + span]
        entry["edges"] = sorted(set(entry["edges"]))
    else:
        entry |= {"bins": draw(st.integers(1, 6)), "spacing": draw(st.sampled_from(["linear", "log"]))}
    if kind == "integer":
        entry["fraction"] = draw(st.sampled_from(["round", "refuse"]))
    elif draw(st.booleans()):
        entry["decimals"] = draw(st.integers(0, 2))
    if draw(st.booleans()):
        entry["specials"] = [lower - 7, 999]

    def cell(rng: np.random.Generator) -> str:
        number = lower + span * rng.random()
        return str(int(number)) if kind == "integer" else f"{number:.3f}"

    return entry, cell


@st.composite
def times(draw: st.DrawFn, name: str) -> tuple[Entry, Cell]:
    kind = draw(st.sampled_from(["date", "datetime"]))
    clock = "" if kind == "date" else "T00:00:00"
    null = draw(nulls(f"2020-03-04{clock}"))
    rules = ["clamp", "refuse"] if null == "refuse" else ["clamp", "refuse", "null"]
    entry = {
        "name": name, "kind": kind, "lower": f"2020-01-01{clock}", "upper": f"2020-12-31{clock}", "null": null,
        "bins": draw(st.integers(1, 5)), "resolution": draw(st.sampled_from(["day", "week", "month"])),
        "outside": draw(st.sampled_from(rules)),
        "unreadable": draw(st.sampled_from([rule for rule in rules if rule != "clamp"])),
    }  # fmt: skip
    if entry["resolution"] == "day" and draw(st.booleans()):
        entry["patterns"] = draw(st.lists(st.sampled_from(["weekday", "month"]), max_size=2, unique=True))
    if draw(st.integers(0, 3)) == 0:
        entry |= {
            "bounds": "learn",
            "outside": "clamp",
            "null": "category" if isinstance(null, dict) else null,
        }
        entry |= draw(st.sampled_from([{}, {"bins": "learn", "most": 6}]))
        del entry["lower"], entry["upper"]
    return entry, lambda rng: f"2020-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}{clock}"


@st.composite
def labels(draw: st.DrawFn, name: str) -> tuple[Entry, Cell]:
    kind = draw(st.sampled_from(["categorical", "ordinal", "boolean"]))
    words = ["no", "yes"] if kind == "boolean" else ["A", "B, or C", "\u00dc", "D"][: draw(st.integers(1, 4))]
    null = draw(nulls(words[0]))
    if kind == "categorical" and draw(st.booleans()):
        learnt: Entry = {"name": name, "kind": kind, "categories": "learn", "most": draw(st.integers(1, 5))}
        learnt["null"] = "category" if isinstance(null, dict) else null
        return learnt, lambda rng: words[int(rng.integers(len(words)))]
    rules = ["refuse"] if null == "refuse" else ["refuse", "null"]
    entry: Entry = {"name": name, "kind": kind, "null": null}
    if kind == "boolean":
        entry |= {"false": "no", "true": "yes"}
    else:
        entry["categories" if kind == "categorical" else "levels"] = words
    if kind == "categorical" and draw(st.booleans()):
        entry["other"] = "elsewhere"
        rules.append("other")
    entry["unknown"] = draw(st.sampled_from(rules))
    return entry, lambda rng: words[int(rng.integers(len(words)))]


@dataclass(frozen=True)
class World:
    """A declared domain, and how ordinary cells of its columns look."""

    domain: TableDomain
    cells: tuple[Cell, ...]

    def record(self, rng: np.random.Generator, person: str, *, odd: float = 0.0) -> list[str]:
        """A record; each cell is an odd one with the given probability."""
        ordinary = [cell(rng) for cell in self.cells]
        chosen = [str(ODD[int(rng.integers(len(ODD)))]) if rng.random() < odd else each for each in ordinary]
        return [person, *chosen]

    def table(self, rng: np.random.Generator, size: int) -> list[list[str]]:
        """Records of people who have one to three of them, now and then with something odd."""
        return [self.record(rng, f"p{n // 2}", odd=0.03) for n in range(size)]


@st.composite
def close_ones(draw: st.DrawFn, name: str, columns: Sequence[tuple[Entry, Cell]]) -> list[tuple[Entry, Cell]]:
    """No column, or one that is coded by its distance from another one."""
    starts = [
        (entry, cell)
        for entry, cell in columns
        if entry["kind"] in {"numeric", "date", "datetime"}
        and entry.get("resolution", "day") == "day"
        and not {"bounds", "specials"} & entry.keys()
    ]
    if not starts or draw(st.booleans()):
        return []
    start, cell = draw(st.sampled_from(starts))
    own = {"edges", "bins", "most", "spacing", "patterns"}
    entry = {key: value for key, value in start.items() if key not in own} | {"name": name}
    difference: Entry = {
        "from": start["name"],
        "lower": draw(st.integers(-3, 0)),
        "upper": draw(st.integers(1, 40)),
    }
    entry["difference"] = difference | draw(st.sampled_from([{}, {"bins": 4}]))
    return [(entry, cell)]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Domains of one to five modelled columns of any kind, with or without a target and a unit column."""
    makers = draw(st.lists(st.sampled_from([numeric, times, labels]), min_size=1, max_size=5))
    columns = [draw(make(f"c{number}")) for number, make in enumerate(makers)]
    by_person = draw(st.booleans())
    target = draw(st.sampled_from([None, *(entry["name"] for entry, _ in columns)]))
    columns += draw(close_ones("c5", columns))
    document = {
        "schema": "understudy.domain/1",
        "target": target,
        "privacy_unit": PERSON if by_person else None,
        "csv": {
            "null_values": draw(st.sampled_from([[""], ["", "?"], ["null"]])),
            "strip_spaces": draw(st.booleans()),
        },
        "columns": [
            {"name": PERSON, "kind": "unit" if by_person else "ignored"},
            *(entry for entry, _ in columns),
        ],
    }
    return World(domain=TableDomain.from_json(document), cells=tuple(cell for _, cell in columns))


UNIT_KINDS = ("ordinary", "odd", "wholly odd", "duplicate", "many records", "many odd records")


def unit_of(kind: str, world: World, rows: Sequence[list[str]], rng: np.random.Generator) -> list[list[str]]:
    """The records of the unit by which neighbours differ; one record where nobody is told apart by a column."""
    if kind == "duplicate" and rows:
        return [["new", *rows[int(rng.integers(len(rows)))][1:]]]
    count = (
        int(rng.integers(2, 60)) if kind.startswith("many") and world.domain.privacy_unit is not None else 1
    )
    odd = {"odd": 0.4, "wholly odd": 1.0, "many odd records": 0.5}.get(kind, 0.0)
    return [world.record(rng, "new", odd=odd) for _ in range(count)]


def file_of(rows: Sequence[list[str]], world: World, content_type: str) -> bytes:
    """The records as a file of one of the kinds that intake reads."""
    names = [column.name for column in world.domain.columns]
    if content_type == PARQUET:
        columns = [pa.array([row[place] for row in rows], pa.string()) for place in range(len(names))]
        sink = io.BytesIO()
        pq.write_table(pa.table(columns, names=names), sink)
        return sink.getvalue()
    text = io.StringIO()
    csv.writer(text).writerows([names, *rows])
    content = text.getvalue().encode()
    return gzip.compress(content, mtime=0) if content_type == GZIP else content


FILES = (CSV, GZIP, PARQUET)
