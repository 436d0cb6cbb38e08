"""How coarsely a job's progress and end become visible: at edges of time buckets, and in twentieths of its plan.

How long a step takes depends on how many rows its batch holds, and how a training ends may depend on rows. So whatever the
world can see of a running job changes only at the edges of buckets of time, counted from its claim. Steps are shown, and
charged if the job ends early, in twentieths of the plan. See docs/decisions/completion-times.md.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

PARTS: Final = 20
"""Number of parts in which the steps of a stage are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """The moments at which a claim's outcome and marks may become visible.

    Attributes:
        seconds: length of a bucket, above 0.
    """

    claimed_at: datetime
    seconds: float

    def passed(self, at: datetime) -> int:
        """Number of edges up to a moment; the claim itself is no edge."""
        return max(0, (at - self.claimed_at) // timedelta(seconds=self.seconds))

    def latest(self, at: datetime) -> datetime:
        """The last edge up to a moment, or the claim if none has passed."""
        return self._edge(self.passed(at))

    def next(self, at: datetime) -> datetime:
        """The first edge at or after a moment; never the claim itself."""
        passed = self.passed(at)
        return self._edge(passed) if passed > 0 and self._edge(passed) == at else self._edge(passed + 1)

    def _edge(self, number: int) -> datetime:
        return self.claimed_at + number * timedelta(seconds=self.seconds)


def shown_steps(step: int, total: int) -> int:
    """Steps shown when `step` of `total` are done: rounded down to a part."""
    return min(step, total) * PARTS // total * total // PARTS if total > 0 else 0


def charged_steps(step: int, total: int) -> int:
    """Steps charged when `step` of `total` have begun: rounded up to a part, so never too few."""
    parts = -(-min(step, total) * PARTS // total) if total > 0 else 0
    return -(-parts * total // PARTS)
