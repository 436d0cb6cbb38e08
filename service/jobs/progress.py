"""Progress of a job, from its plan and its published progress marks, in twentieths of a stage (core.jobs.visible_progress).

Marks are published only at fixed time boundaries, and a job that is requeued after a crash still appears as running:
the crash and its time could reveal something about rows.
"""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row

from core.db.tables.job import Job
from core.dp.accountant import epsilons
from core.jobs.endings import charged_at_delta
from core.jobs.states import STAGES
from core.jobs.visible_progress import charged_steps, shown_steps
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.several_owners.member_plan import KIND as MEMBER
from core.plan.utility_reports.plan import KIND as REPORT

ShownJob = Job | Row[*tuple[Any, ...]]
"""A job, or a row with its visible columns."""

# Percentages before the first step and after the last one. All steps in between count alike, because a step against the
# moments and a step with the critic take about the same time.
_BEFORE: Final = 2
_AFTER: Final = 2
_MINUTE: Final = 60
_SHORT: Final = 5 * _MINUTE
_FINE: Final = 5
_MOST_EPSILONS: Final = 10_000
_EPSILONS: Final[dict[tuple[str, int], float]] = {}
"""Epsilon of the first steps of a plan, by its digest and the number of steps."""


def state_of(job: ShownJob) -> str:
    """The visible state: a job that has started counts as running until it ends."""
    return "running" if job.state == "queued" and job.started_at is not None else str(job.state)


def steps_of(job: ShownJob) -> tuple[int, int]:
    """Visible and total steps of the visible stage; zeros before the first mark and after a failure."""
    _, training = _planned_steps(job)
    if job.state == "succeeded":
        return training, training
    if state_of(job) != "running" or job.shown_stage is None:
        return 0, 0
    total = _total_of(job)
    return shown_steps(job.shown_step or 0, total), total


def stages_of(job: ShownJob) -> list[str]:
    """The stages of the plan, in their order: public before the job starts."""
    if job.plan.get("kind") == REPORT:
        return ["measure"]
    pretraining, training = _planned_steps(job)
    planned = {"measure": True, "pretrain": pretraining > 0, "train": training > 0, "export": True}
    return [stage for stage in STAGES if planned[stage]]


def percent_of(job: ShownJob) -> int:
    """Completed percentage as an integer; 100 only once the generator is published."""
    if job.state == "succeeded":
        return 100
    if state_of(job) != "running" or job.shown_stage is None:
        return 0
    pretraining, training = _planned_steps(job)
    # Measuring comes first if a generator is trained on the measurements; a graphical model is fitted in between.
    measuring = _measurements(job) - 1
    step, _ = steps_of(job)
    done = {
        "measure": min(step, measuring),
        "pretrain": measuring + step,
        "train": measuring + pretraining + step,
        "export": measuring + pretraining + training,
    }.get(job.shown_stage, 0)
    share = min(1.0, done / max(1, measuring + pretraining + training))
    return int(_BEFORE + (100 - _BEFORE - _AFTER) * share)


def epsilon_so_far(job: ShownJob) -> float | None:
    """Epsilon of what had begun at the visible mark, at the plan's delta, as the accountant reports it for that prefix of the plan, or in a federation for all of it.

    It is that of a settlement (`core.jobs.endings.charged_at_delta`), so it is never below the epsilon of the visible steps. 0 before the first visible mark, None after an end before the plan's: the ledger states that charge.
    """
    state, total = state_of(job), int(job.plan.get("steps", 0))
    if state == "queued" or (state == "running" and job.shown_stage is None):
        return 0.0
    if state == "succeeded":
        return float(min(job.plan["epsilons"]["pld"], job.plan["epsilons"]["rdp"]))
    if state != "running":
        return None
    if job.shown_stage == "export":
        return _epsilon_of(job, total)
    return _epsilon_of(job, charged_steps(job.shown_step or 0, total) if job.shown_stage == "train" else 0)


def _epsilon_of(job: ShownJob, steps: int) -> float:
    """Epsilon of what a settlement charges after a number of steps. Composing them takes a moment, so it is kept."""
    known = (job.plan_digest, steps)
    found = _EPSILONS.get(known)
    if found is None:
        plan = ordered_plan_from_json(job.plan)
        found = epsilons(charged_at_delta(plan, steps), delta=plan.guarantee.delta).reported
        if len(_EPSILONS) >= _MOST_EPSILONS:
            _EPSILONS.clear()
        _EPSILONS[known] = found
    return found


def _planned_steps(job: ShownJob) -> tuple[int, int]:
    """Steps against the moments only, and noisy critic steps: both public numbers of the plan."""
    # For a selection, the longest final plan: which candidate wins is not revealed before the end.
    # A report has no steps.
    if job.plan.get("kind") == REPORT:
        return 0, 0
    plans = job.plan.get("finals", [job.plan])
    pretraining = max(int(plan["options"].get("pretraining_steps", 0)) for plan in plans)
    return pretraining, int(job.plan["steps"])


def _measurements(job: ShownJob) -> int:
    """Number of measurement marks: one per measurement of a graphical model, one per round of a federation's generator, one for every other plan."""
    if job.plan.get("kind") == MEMBER:
        return len(job.plan["mechanism"]["parts"])
    return 1 + 2 * int(job.plan.get("options", {}).get("rounds", 0))


def _total_of(job: ShownJob) -> int:
    pretraining, training = _planned_steps(job)
    totals = {"measure": _measurements(job), "pretrain": pretraining, "train": training}
    return totals.get(str(job.shown_stage), 1)


def eta_seconds_of(job: ShownJob, *, now: datetime) -> int | None:
    """Estimated seconds until the end, rounded to five seconds if short and to minutes if long; None if unknown."""
    percent = percent_of(job)
    if state_of(job) != "running" or job.started_at is None or percent <= _BEFORE:
        return None
    elapsed = max(0.0, (now - job.started_at).total_seconds())
    remaining = elapsed * (100 - percent) / percent
    unit = _FINE if remaining < _SHORT else _MINUTE
    return max(unit, round(remaining / unit) * unit)
