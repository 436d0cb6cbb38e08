"""Answers from the noisy counts of a release, from a bundle file or from a service.

    answer = understudy.ask("bundle.zip", "age by sex where region = north")
    for row in answer.rows:
        print(row.values, row.estimate, row.low, row.high)

Asking costs no privacy. The language of questions is in docs/asking.md.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Self

from understudy.documents import Json, named
from understudy.plain_text import one_line

_HEADS = ("estimate", "low", "high", "standard error")
_UNKNOWN = "-"
_WIDEST, _SHOWN = 60, 2
"""A wider name of a group is shown by so many of its values."""
_FURTHER = re.compile(r" and ([0-9,]+) more$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of an answer.

    Attributes:
        values: one for each column of the answer.
        estimate: clipped to the possible range; None for a ratio whose denominator is within noise of zero.
        low: lower end of the 95 % interval; None if there is no interval.
        high: upper end of it, or None.
        standard_error: of the unclipped estimate; None for such a ratio and for an assumed answer.
        unbiased: the unclipped estimate, for adding up; None for such a ratio.
    """

    values: tuple[str, ...]
    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    unbiased: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, with 95 % intervals where there are any.

    Attributes:
        measure: "count", "mean" or "share".
        basis: "counted"; or "assumed" for columns that were not counted together: the first note states the assumption.
        columns: what the rows are of.
        rows: one for each combination of the columns' values.
        counted: what a count counts.
        drawn_rows: synthetic rows below which their sampling error alone exceeds that of the largest group; None if it
            is not known.
    """

    measure: str
    basis: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    counted: str
    drawn_rows: int | None
    notes: tuple[str, ...]
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer's document."""
        stated = named(document, "measure", "columns", "rows", "counted", "drawn_rows", "notes")
        stated |= {"columns": tuple(stated["columns"]), "notes": tuple(stated["notes"])}
        stated["rows"] = tuple(map(_row, stated["rows"]))
        # Services of earlier versions answer from counts alone.
        return cls(**stated, basis=document.get("basis", "counted"), document=document)

    def lines(self) -> Iterator[str]:
        """Return the answer as a table for people, with its notes."""
        table = [[*map(one_line, self.columns), *_HEADS]]
        digits = 1 if self.measure == "count" else 4
        for row in self.rows:
            numbers = (row.estimate, row.low, row.high, row.standard_error)
            shown = [_UNKNOWN if number is None else f"{number:,.{digits}f}" for number in numbers]
            table.append([*(one_line(in_short(value)) for value in row.values), *shown])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for line in table:
            words = [word.ljust(width) for word, width in zip(line, widths, strict=True)]
            numbers_at = len(self.columns)
            words[numbers_at:] = [
                word.rjust(width) for word, width in zip(line[numbers_at:], widths[numbers_at:], strict=True)
            ]
            yield "  ".join(words).rstrip()
        yield ""
        yield f"{self._intervals()}; counted are {one_line(self.counted)}."
        yield from map(one_line, self.notes)

    def __str__(self) -> str:
        """The answer as a table for people, with its notes: what `print` shows."""
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _intervals(self) -> str:
        if self.basis == "counted":
            return "95 % intervals"
        if all(row.low is None for row in self.rows):
            return "No intervals"
        return "Intervals hold in 95 % of releases at least"

    def to_csv(self) -> str:
        """Return the rows as CSV with a header."""
        target = io.StringIO()
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow([*self.columns, "estimate", "low", "high", "standard_error", "unbiased", "basis"])
        for row in self.rows:
            numbers = (row.estimate, row.low, row.high, row.standard_error, row.unbiased)
            shown = ("" if number is None else repr(number) for number in numbers)
            writer.writerow([*row.values, *shown, self.basis])
        return target.getvalue()


def in_short(name: str) -> str:
    """Return the name of a group for a table: of many values the first two and how many more there are.

    Values have commas between them, and perhaps "and 180 more" at the end; short names stay.
    """
    if len(name) <= _WIDEST:
        return name
    listed = _FURTHER.search(name)
    values = (name if listed is None else name[: listed.start()]).split(", ")
    further = len(values) - _SHOWN + (0 if listed is None else int(listed[1].replace(",", "")))
    return name if len(values) <= _SHOWN else f"{', '.join(values[:_SHOWN])} and {further:,} more"


def _row(document: Json) -> Row:
    stated = named(document, "values", "estimate", "low", "high", "standard_error", "unbiased")
    return Row(**stated | {"values": tuple(stated["values"])})
