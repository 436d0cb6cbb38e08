"""How coarsely a job's progress and end are told: when something may become visible, and in how large parts.

How long a step takes depends on how many rows its batch holds, and how a training ends may depend on rows. So whatever
the world can see of a running job changes at the edges of buckets of time only, counted from its claim, and steps are
told, and charged where a job ends early, in twentieths of the plan. See docs/decisions/completion-times.md.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

PARTS: Final = 20
"""In how many parts the steps of a stage are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """The moments at which a claim's outcome and marks may become visible.

    Args:
        claimed_at: when the job was claimed.
        seconds: the length of a bucket, above 0.
    """

    claimed_at: datetime
    seconds: float

    def passed(self, at: datetime) -> int:
        """How many edges lie in the past at a moment; the claim itself is none."""
        return max(0, (at - self.claimed_at) // timedelta(seconds=self.seconds))

    def latest(self, at: datetime) -> datetime:
        """The last edge that has passed at a moment, or the claim."""
        return self._edge(self.passed(at))

    def next(self, at: datetime) -> datetime:
        """The first edge at or after a moment; never the claim itself."""
        passed = self.passed(at)
        return self._edge(passed) if passed > 0 and self._edge(passed) == at else self._edge(passed + 1)

    def _edge(self, number: int) -> datetime:
        return self.claimed_at + number * timedelta(seconds=self.seconds)


def told_steps(step: int, total: int) -> int:
    """Of `total` steps, those that are told when `step` are done: rounded down to a part."""
    return min(step, total) * PARTS // total * total // PARTS if total > 0 else 0


def charged_steps(step: int, total: int) -> int:
    """Of `total` steps, those that are charged when `step` have begun: rounded up to a part, so never too few."""
    parts = -(-min(step, total) * PARTS // total) if total > 0 else 0
    return -(-parts * total // PARTS)
