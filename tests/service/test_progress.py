from datetime import UTC, datetime, timedelta

from core.db.tables import Job
from core.jobs.states import STAGES
from service.jobs.progress import eta_seconds_of, percent_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def job(**changes: object) -> Job:
    facts = {"state": "running", "stage": "train", "step": 0, "total_steps": 100, "started_at": NOON}
    plan = {"options": {"pretraining_steps": 300}, "steps": 100}
    return Job(**{"plan": plan} | facts | changes)


def test_percent_rises_with_the_stages_and_steps_and_ends_at_one_hundred() -> None:
    totals = {"measure": 1, "pretrain": 300, "train": 100, "export": 1}
    marks = [
        percent_of(job(stage=stage, step=step))
        for stage in STAGES
        for step in range(0, totals[stage] + 1, max(1, totals[stage] // 10))
    ]
    assert marks == sorted(marks)
    assert marks[0] == 2
    assert marks[-1] == 98
    assert percent_of(job(stage="pretrain", step=150)) == 38, "a step counts like any other"
    assert percent_of(job(state="succeeded", stage="export")) == 100
    assert percent_of(job(state="queued", stage=None)) == 0
    assert percent_of(job(stage="train", step=500)) == 98


def test_a_plan_without_steps_has_a_percent_too() -> None:
    plan = {"options": {"pretraining_steps": 0}, "steps": 0}
    assert percent_of(job(stage="measure", step=1, plan=plan)) == 2


def test_the_estimate_is_coarse_and_positive_and_only_for_running_jobs() -> None:
    later = NOON + timedelta(seconds=59)
    assert eta_seconds_of(job(stage="pretrain", step=200), now=later) == 60
    assert eta_seconds_of(job(stage="pretrain", step=10), now=NOON + timedelta(hours=1)) % 60 == 0
    assert eta_seconds_of(job(step=50), now=NOON) == 5
    assert eta_seconds_of(job(stage="measure"), now=later) is None
    assert eta_seconds_of(job(state="queued", stage=None), now=later) is None
    assert eta_seconds_of(job(started_at=None), now=later) is None
