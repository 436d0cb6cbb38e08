"""The table of the first half hour with understudy, SDV and MOSTLY AI, for docs/comparison.md: from its result file, row by row."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from docs.tables import table

RESULTS: Final = Path(__file__).parents[1] / "benchmarks" / "results" / "beside_peers.json"
TOOLS: Final = {
    "understudy": "understudy, commands", "understudy_python": "understudy, Python", "sdv_copula": "SDV GaussianCopula",
    "mostly": "MOSTLY AI", "real": "other real rows",
}  # fmt: skip
"""Column heads, in order."""

_GUARANTEES: Final = {
    "understudy": "epsilon 1, delta 1e-6 for a row", "understudy_python": "epsilon 1, delta 1e-6 for a row",
}  # fmt: skip
"""What a tool states of its run; the others state no guarantee."""

Entry = Mapping[str, Any]


def _number(name: str, digits: int) -> Callable[[Entry], str]:
    return lambda entry: f"{entry[name]:,.{digits}f}" if name in entry else "-"


def _count(name: str) -> Callable[[Entry], str]:
    return lambda entry: str(len(entry[name]))


def _rule(name: str) -> Callable[[Entry], str]:
    return lambda entry: f"{entry['rules_percent'][name]:.1f}"


_ROWS: Final[dict[str, Callable[[Entry], str]]] = {
    "commands after the installation": _number("commands", 0),
    "lines of Python": _number("lines", 0),
    "wall seconds": _number("wall_seconds", 0),
    "processor seconds": _number("processor_seconds", 0),
    "load average, before and after": lambda entry: (
        f"{entry['load_before']:.1f}, {entry['load_after']:.1f}" if "load_before" in entry else "-"
    ),
    "columns left out": _count("columns_left_out"),
    "cells outside what any flight has, of 100": _number("cells_outside_percent", 1),
    "fractions in whole numbers, of 100 cells": _number("fractions_percent", 1),
    "times off the hour, of 100 rows": _number("times_off_the_hour_percent", 1),
    "columns whose missing values are lost": _count("missing_lost"),
    "columns with invented missing values": _count("missing_invented"),
    "largest error of a column's missing share, of 100 rows": _number("missing_points", 1),
    "constant columns that vary in reality": _count("constant_columns"),
    "rows with a real tail number, of 100": _number("identifiers_copied_percent", 1),
    "tail numbers released that stand in one real row": _number("identifiers_of_one_row", 0),
    "exact copies of real rows": _number("copies", 0),
    "rows that name a real flight": _number("records_copied", 0),
    "hour and minute are not the scheduled time, of 100 rows": _rule("hour and minute are the scheduled time"),
    "month, day or hour is not that of the time, of 100": _rule("month, day and hour are those of the time"),
    "the delay is not the difference of the times, of 100": _rule("the delay is the time less the scheduled time"),
    "the distance is not that of the route, of 100": _rule("the route has one distance"),
    "times of what did not depart or land, of 100": _rule("what did not depart has no times"),
    "two-way total variation": _number("two_way", 3),
    "AUROC of late arrivals, trained on these rows": _number("auroc_late", 3),
}  # fmt: skip


def half_hour(result: Mapping[str, Any]) -> Iterable[str]:
    """A column for each tool that was run, a row for each thing that was counted."""
    tools = [name for name in TOOLS if name in result["tools"]]
    yield from table(
        ["", *(TOOLS[name] for name in tools)],
        [
            *([label, *(show(result["tools"][name]) for name in tools)] for label, show in _ROWS.items()),
            ["guarantee of differential privacy", *(_GUARANTEES.get(name, "none") for name in tools)],
        ],
    )


def versions(result: Mapping[str, Any]) -> str:
    """Every version that was run."""
    found = {
        f"{package} {version}"
        for name in TOOLS
        for package, version in result["tools"].get(name, {}).get("versions", {}).items()
    }
    return ", ".join(sorted(found))


if __name__ == "__main__":
    measured = json.loads(RESULTS.read_text())
    print("\n".join(half_hour(measured)), versions(measured), sep="\n\n")
