"""An answer and its rows."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from core.artifacts.asking.estimates import CONFIDENCE
from core.artifacts.asking.question import Measure

Basis = Literal["counted", "assumed"]
"""Whether the columns were counted together, or the answer rests on an assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of an answer.

    Attributes:
        estimate: the estimate, clipped to its possible range; None for a ratio with a denominator within noise of zero.
        low: lower end of the 95 % interval.
        high: upper end of the 95 % interval.
        standard_error: standard error of the unclipped estimate; None for a ratio with a noisy denominator, and for an assumption.
        unbiased: the unclipped estimate, suitable for sums; None in the same cases.
    """

    values: tuple[str, ...]
    estimate: float | None
    low: float
    high: float
    standard_error: float | None
    unbiased: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer.

    Attributes:
        rows: in the order of the columns' codes, the last column fastest.
        counted: the unit of the counts, in words.
        drawn_rows: number of drawn rows whose sampling error alone equals the standard error of the largest
            group; None if unknown.
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
