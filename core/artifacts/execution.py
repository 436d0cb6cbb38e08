"""The recorded releases of a training in compact form for a certificate: steps as progressions, noise as runs.

A job of ten million steps is one line here. Nothing in it depends on rows: it records the begun steps, and the noise
that the plan gives each of them.
"""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, PlainSerializer

from core.artifacts.errors import ExecutionDiffers, InvalidCertificate
from core.dp.gaussian import joint_noise_multiplier
from core.plan.plan import Plan
from core.values import CountOrNone, Published, Value

SCHEMA = "understudy.execution/1"


Progression = Annotated[list[CountOrNone], Field(min_length=3, max_length=3)]


@dataclass(slots=True)
class RecordedSteps:
    """The steps at which one kind of release was recorded, in order of arrival.

    Attributes:
        progressions: `[first, every, count]` each: the steps first, first + every, ..., `count` of them.
    """

    progressions: list[Progression] = field(default_factory=list)

    def add(self, step: int) -> None:
        """Record one more step."""
        if self.progressions:
            first, every, count = self.progressions[-1]
            if count == 1 and step > first:
                self.progressions[-1] = [first, step - first, 2]
                return
            if count > 1 and step == first + every * count:
                self.progressions[-1][2] += 1
                return
        self.progressions.append([step, 1, 1])

    @classmethod
    def of(cls, *, every: int, count: int) -> Self:
        """The record of `count` steps from step 0 on, `every` so many."""
        return cls([[0, 1 if count == 1 else every, count]] if count else [])


Steps = Annotated[
    RecordedSteps,
    BeforeValidator(lambda progressions: {"progressions": progressions}),
    PlainSerializer(attrgetter("progressions")),
    Published(Annotated[list[Progression], Field(max_length=64)]),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed(Value):
    """All releases of one job.

    Attributes:
        label_histogram: Steps of the noisy label counts: one, the first, or none.
        anchor: The noisy moments, one step for each release, in the order of the plan's.
        gradients: Steps of the noisy clipped sums.
        histograms: Steps of the noisy histograms of gradient norms.
        learning: The noisy counts that a domain is learnt from, one step for each release, in the order of the plan's.
    """

    UNREADABLE = InvalidCertificate, "the record of releases lacks a kind or has one of the wrong form"

    label_histogram: Steps = field(default_factory=RecordedSteps)
    anchor: Steps = field(default_factory=RecordedSteps)
    gradients: Steps = field(default_factory=RecordedSteps)
    histograms: Steps = field(default_factory=RecordedSteps)
    learning: Annotated[Steps, Field(exclude_if=lambda steps: not steps.progressions)] = field(
        default_factory=RecordedSteps
    )

    @classmethod
    def planned(cls, plan: Plan) -> Self:
        """The releases of a plan that runs to its end."""
        return cls(
            label_histogram=RecordedSteps.of(every=1, count=int(plan.label_histogram is not None)),
            anchor=RecordedSteps.of(every=1, count=0 if plan.anchor is None else len(plan.anchor.parts)),
            gradients=RecordedSteps.of(every=1, count=plan.steps),
            histograms=_refreshes(plan),
            learning=RecordedSteps.of(
                every=1, count=0 if plan.learning is None else len(plan.learning.releases)
            ),
        )


def _refreshes(plan: Plan) -> RecordedSteps:
    if plan.acts is None:
        return RecordedSteps()
    return RecordedSteps.of(every=plan.acts.interval, count=-(-plan.steps // plan.acts.interval))


def require_as_planned(executed: Executed, plan: Plan) -> None:
    """Compare the recorded releases with the plan that was charged.

    Raises:
        ExecutionDiffers: a release is missing, came twice or out of order, or was never planned.
    """
    if executed != Executed.planned(plan):
        raise ExecutionDiffers


def multiplier_runs(plan: Plan) -> list[dict[str, Any]]:
    """Return the effective noise multiplier of every step of a plan that ran, as repeated runs.

    On a step with histograms it is the joint multiplier of gradient and histograms (`joint_noise_multiplier`).

    Returns:
        `{"repeat": n, "runs": [[steps, multiplier], ...]}` in order; expanded, the runs give one number per step.
    """
    made: list[dict[str, Any]] = []
    for block in plan.blocks:
        own = block.noise_multiplier
        if plan.acts is None:
            made.append(_runs(1, [block.steps, own]))
            continue
        joint = joint_noise_multiplier(
            own, histograms=plan.acts.groups, histogram_noise_multiplier=plan.acts.noise_multiplier
        )
        interval = plan.acts.interval
        before = min(-block.first_step % interval, block.steps)
        whole, rest = divmod(block.steps - before, interval)
        if before:
            made.append(_runs(1, [before, own]))
        if whole:
            made.append(_runs(whole, [1, joint], [interval - 1, own]))
        if rest:
            made.append(_runs(1, [1, joint], [rest - 1, own]))
    return made


def _runs(repeat: int, *runs: list[float]) -> dict[str, Any]:
    return {"repeat": repeat, "runs": [run for run in runs if run[0]]}
