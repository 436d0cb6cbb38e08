"""What happened to an upload, told to its owner only: counts, and places of refused rows, never values."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

LISTED_PROBLEMS: Final = 1000
MAX_REFUSED: Final = 0.02
"""The share of refused rows above which an owner is asked first, unless the owner named another."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """Why a row was refused.

    Attributes:
        line: Line of the file on which the record begins, the first line being 1; in Parquet and in arrays the number of the
            row, in archives of images without a label file that of the entry.
        column: The declared column, or "" for the row as a whole.
        kind: Stable word, see docs/domain.md and docs/images.md.
    """

    line: int
    column: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeReport:
    """Sealed to the owner: exact counts of private rows are nobody else's business.

    Attributes:
        rows_accepted: Rows stored.
        rows_refused: Rows left out.
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
        """A JSON-able form."""
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
    """Whether more rows were refused than the owner allows; this is for the owner alone.

    Args:
        accepted: Rows taken.
        refused: Rows left out.
        max_refused: The largest share of refused rows among all that were sent, from 0 to 1.
    """
    return refused > max_refused * (accepted + refused)


class ReportBuilder:
    """Collects what happened, in file order, in constant memory."""

    def __init__(self, position: str) -> None:
        self._position = position
        self._accepted = 0
        self._refused = 0
        self._changes: Counter[tuple[str, str]] = Counter()
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._problems: list[Problem] = []

    @property
    def room(self) -> int:
        """How many more problems can be listed."""
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
        """Add what happened in the next block."""
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
