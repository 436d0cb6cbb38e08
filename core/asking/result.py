"""An answer and its rows, as they are given to whoever asked."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from core.asking.estimates import CONFIDENCE
from core.asking.question import Measure

Basis = Literal["counted", "assumed"]
"""Whether the columns were counted together, or an assumption ties them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of an answer.

    Attributes:
        values: what the columns of the answer hold.
        estimate: clipped to what is possible; None of a ratio over what is within noise of nothing.
        low: lower end of the 95 % interval; None where there is no interval.
        high: upper end of it; None likewise.
        standard_error: of the estimate before it is clipped; None of a ratio over noise, and of an assumption.
        unbiased: the estimate before it is clipped, for adding up; None likewise.
    """

    values: tuple[str, ...]
    estimate: float | None
    low: float | None
    high: float | None
    standard_error: float | None
    unbiased: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer.

    Attributes:
        measure: what was asked for.
        basis: "counted", or "assumed" of columns that were not counted together.
        columns: names of what the rows are of.
        rows: in the order of the columns' codes, the last column fastest.
        counted: what one of the counts is.
        drawn_rows: how many rows would have to be drawn for their sampling error alone to be as small as the standard error of
            the largest group; None where it is not known.
        notes: what to know before the numbers are used.
    """

    measure: Measure
    basis: Basis
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    counted: str
    drawn_rows: int | None
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        facts = asdict(self) | {"schema": "understudy.answer/1", "confidence": CONFIDENCE}
        rows = [asdict(row) | {"values": list(row.values)} for row in self.rows]
        return facts | {"columns": list(self.columns), "rows": rows, "notes": list(self.notes)}
