"""The intake report, for the owner only: counts, and positions of refused rows, never values."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

LISTED_PROBLEMS: Final = 1000
MAX_REFUSED: Final = 0.02
"""Default share of refused rows above which the owner must accept the rows explicitly."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """Why a row was refused.

    Attributes:
        line: Line of the file on which the record begins, the first line being 1; in Parquet and in arrays the number of the
            row, in archives of images without a label file that of the entry.
        column: The declared column, or "" for the row as a whole.
        kind: Stable code, see docs/domain.md and docs/images.md.
    """

    line: int
    column: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeReport:
    """For the owner only: exact counts of private rows are private.

    Attributes:
        changes: Accepted values changed by declared rules: column, then kind, then count.
        refusals: Reasons for refusals: column ("" for the row as a whole), then kind, then count.
        problems: The first refused values in file order, at most 1000.
        problems_unlisted: How many more there are.
        position: What ``line`` counts: "line", "row" or "entry".
    """

    rows_accepted: int
    rows_refused: int
    changes: dict[str, dict[str, int]]
    refusals: dict[str, dict[str, int]]
    problems: tuple[Problem, ...]
    problems_unlisted: int
    position: str

    def to_json(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "rows_accepted": self.rows_accepted,
            "rows_refused": self.rows_refused,
            "changes": self.changes,
            "refusals": self.refusals,
            "problems": [
                {self.position: problem.line, "column": problem.column, "kind": problem.kind}
                for problem in self.problems
            ],
            "problems_unlisted": self.problems_unlisted,
            "position": self.position,
        }


def too_many_refused(*, accepted: int, refused: int, max_refused: float) -> bool:
    """Whether more rows were refused than the owner allows. The answer is for the owner only.

    Args:
        max_refused: Largest allowed share of refused rows among all rows sent, from 0 to 1.
    """
    return refused > max_refused * (accepted + refused)


class ReportBuilder:
    """Collects the report in file order, in constant memory."""

    def __init__(self, position: str) -> None:
        self._position = position
        self._accepted = 0
        self._refused = 0
        self._changes: Counter[tuple[str, str]] = Counter()
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._problems: list[Problem] = []

    @property
    def room(self) -> int:
        """Number of further problems that can be listed."""
        return LISTED_PROBLEMS - len(self._problems)

    @property
    def rows_accepted(self) -> int:
        """Rows accepted so far."""
        return self._accepted

    def add(
        self,
        *,
        accepted: int,
        refused: int,
        changes: Counter[tuple[str, str]],
        refusals: Counter[tuple[str, str]],
        problems: Iterable[Problem],
    ) -> None:
        """Add the next block."""
        self._accepted += accepted
        self._refused += refused
        self._changes += changes
        self._refusals += refusals
        self._problems += sorted(problems)[: self.room]

    def finish(self) -> IntakeReport:
        """The report."""
        return IntakeReport(
            rows_accepted=self._accepted,
            rows_refused=self._refused,
            changes=_nested(self._changes),
            refusals=_nested(self._refusals),
            problems=tuple(self._problems),
            problems_unlisted=self._refusals.total() - len(self._problems),
            position=self._position,
        )


def _nested(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (column, kind), count in sorted(counts.items()):
        found.setdefault(column, {})[kind] = count
    return found
