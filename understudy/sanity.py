"""Sanity checks of synthetic rows, computed from them and the declared domain alone: no real row is read."""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

LOOKED_AT = 20_000
SHOWN = 4


def sanity_lines(synthetic: Path, domain: Mapping[str, Any]) -> list[str]:
    """Describe each column of a CSV file of synthetic rows in one line."""
    with synthetic.open(newline="") as stream:
        rows = [row for row, _ in zip(csv.DictReader(stream), range(LOOKED_AT), strict=False)]
    lines = [f"A first look, from the first {len(rows)} synthetic rows alone:"]
    for column in domain.get("columns", ()):
        name = column.get("name")
        if rows and name in rows[0]:
            lines.append(f"  {name:<18} {_described([row[name] for row in rows], column)}")
    target = domain.get("target")
    if rows and target in rows[0]:
        lines += [
            f"Share of the most frequent {target} by decile of a numeric column:",
            *_by_decile(rows, domain, target),
        ]
    return lines


def _described(values: Sequence[str], column: Mapping[str, Any]) -> str:
    if column.get("kind") == "numeric":
        numbers = sorted(float(value) for value in values if value)
        missing = f", {1 - len(numbers) / len(values):.1%} null" if len(numbers) < len(values) else ""
        if not numbers:
            return "all null"
        low, middle, high = (numbers[int(share * (len(numbers) - 1))] for share in (0.05, 0.5, 0.95))
        return f"5 % {low:g}, median {middle:g}, 95 % {high:g}{missing}"
    if column.get("kind") in {"date", "datetime"}:
        present = sorted({value for value in values if value}, key=partial(_moment, column.get("format")))
        return f"{present[0]} to {present[-1]}" if present else " to "
    counts = Counter(values)
    shown = ", ".join(
        f"{value or 'null'} {count / len(values):.1%}" for value, count in counts.most_common(SHOWN)
    )
    return shown + (", ..." if len(counts) > SHOWN else "")


def _moment(format_: str | None, text: str) -> str:
    """A date or time in an order of texts."""
    with suppress(ValueError):  # ISO 8601, where the format is one that is only read
        return text if format_ is None else datetime.strptime(text, format_).isoformat()  # noqa: DTZ007 - no zone
    return text


def _by_decile(rows: Sequence[Mapping[str, str]], domain: Mapping[str, Any], target: str) -> Iterator[str]:
    top = Counter(row[target] for row in rows).most_common(1)[0][0]
    for column in domain.get("columns", ()):
        name = column.get("name")
        if column.get("kind") != "numeric" or name == target or name not in rows[0]:
            continue
        pairs = [(float(row[name]), row[target] == top) for row in rows if row[name]]
        # By the number alone: ties must not be ordered by what is counted.
        ordered = sorted(pairs, key=itemgetter(0))
        size = max(1, len(ordered) // 10)
        shares = [
            sum(hit for _, hit in ordered[start : start + size]) / len(ordered[start : start + size])
            for start in range(0, size * min(10, len(ordered)), size)
        ]
        yield f"  {name:<18} " + " ".join(f"{share:.0%}" for share in shares)
