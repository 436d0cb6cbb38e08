"""The recorded releases of a selection: every candidate's training, the winner, and the winner's training."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from core.artifacts.errors import ExecutionDiffers, InvalidCertificate
from core.artifacts.execution import Executed, multiplier_runs, require_as_planned
from core.plan.plan import Plan
from core.plan.selections.plan import SelectionPlan
from core.values import CountOrNone, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionExecuted(Value):
    """All releases of one selection.

    Attributes:
        winner: Number of the chosen candidate.
        candidates: Of each candidate's training on its part.
        final: Of the winner's training on all units.
    """

    UNREADABLE = InvalidCertificate, "the record of a selection lacks a member or has one of the wrong form"

    winner: CountOrNone
    candidates: tuple[Executed, ...]
    final: Executed

    @classmethod
    def planned(cls, plan: SelectionPlan, *, winner: int) -> Self:
        """The releases of a plan if this candidate wins."""
        return cls(
            winner=winner,
            candidates=tuple(Executed.planned(one) for one in plan.candidates),
            final=Executed.planned(plan.finals[winner]),
        )

    def require_as_planned(self, plan: SelectionPlan) -> None:
        """Compare the recorded releases with the plan that was charged.

        Raises:
            ExecutionDiffers: a release is missing, came twice or out of order, or was never planned, or there is no winner.
        """
        if not 0 <= self.winner < len(plan.finals) or len(self.candidates) != len(plan.candidates):
            raise ExecutionDiffers
        for executed, one in zip(self.candidates, plan.candidates, strict=True):
            require_as_planned(executed, one)
        require_as_planned(self.final, plan.finals[self.winner])

    def stated(self, plan: SelectionPlan) -> dict[str, Any]:
        """Return the certificate's member, including the noise multiplier of every step."""
        return {
            "winner": self.winner,
            "candidates": _stated(self.candidates, plan.candidates),
            "final": _stated([self.final], [plan.finals[self.winner]])[0],
        }


def _stated(executed: Sequence[Executed], plans: Sequence[Plan]) -> list[dict[str, Any]]:
    return [
        {
            "steps": sum(count for _first, _every, count in one.gradients.progressions),
            "releases": one.to_json(),
            "noise_multipliers": multiplier_runs(plan),
        }
        for one, plan in zip(executed, plans, strict=True)
    ]
