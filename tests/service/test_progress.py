from datetime import UTC, datetime, timedelta

from core.db.tables import Job
from core.dp.accountant import epsilons
from core.jobs.states import STAGES
from core.jobs.visible_progress import charged_steps
from service.jobs.progress import epsilon_so_far, eta_seconds_of, percent_of, stages_of, state_of, steps_of
from tests.core.jobs.support import STEPS, plan

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def job(**changes: object) -> Job:
    facts = {"state": "running", "shown_stage": "train", "shown_step": 0, "started_at": NOON}
    plan = {"options": {"pretraining_steps": 300}, "steps": 100}
    return Job(**{"plan": plan} | facts | changes)


def test_percent_rises_with_the_stages_and_steps_and_ends_at_one_hundred() -> None:
    totals = {"measure": 1, "pretrain": 300, "train": 100, "export": 1}
    marks = [
        percent_of(job(shown_stage=stage, shown_step=step))
        for stage in STAGES
        for step in range(0, totals[stage] + 1, max(1, totals[stage] // 10))
    ]
    assert marks == sorted(marks)
    assert marks[0] == 2
    assert marks[-1] == 98
    assert percent_of(job(shown_stage="pretrain", shown_step=150)) == 38, "a step counts like any other"
    assert percent_of(job(state="succeeded", shown_stage="export")) == 100
    assert percent_of(job(state="queued", shown_stage=None)) == 0
    assert percent_of(job(shown_stage="train", shown_step=500)) == 98


def test_the_stages_are_those_that_the_plan_has() -> None:
    assert stages_of(job()) == list(STAGES)
    counts_alone = {"options": {"pretraining_steps": 300}, "steps": 0}
    assert stages_of(job(plan=counts_alone)) == ["measure", "pretrain", "export"], "no critic is trained"
    assert stages_of(job(plan={"options": {}, "steps": 100})) == ["measure", "train", "export"]
    assert stages_of(job(plan={"kind": "report", "steps": 0})) == ["measure"]
    assert stages_of(job(state="queued", started_at=None, shown_stage=None)) == list(STAGES), "known before"


def test_steps_are_shown_in_twentieths_as_they_were_last_shown() -> None:
    assert [steps_of(job(shown_step=step)) for step in (0, 4, 5, 9, 99, 100)] == [
        (0, 100), (0, 100), (5, 100), (5, 100), (95, 100), (100, 100),
    ]  # fmt: skip
    assert steps_of(job(shown_stage=None, stage="train", step=50)) == (0, 0), "no mark is shown yet"
    assert percent_of(job(shown_stage=None, stage="train", step=50)) == 0
    assert percent_of(job(shown_step=54)) == percent_of(job(shown_step=50))


def test_a_job_that_went_back_to_the_queue_after_a_crash_still_runs_for_its_readers() -> None:
    assert state_of(job(state="queued")) == "running"
    assert steps_of(job(state="queued", shown_step=50)) == (50, 100)
    assert state_of(job(state="queued", started_at=None)) == "queued"


def test_a_plan_without_steps_has_a_percent_too() -> None:
    plan = {"options": {"pretraining_steps": 0}, "steps": 0}
    assert percent_of(job(shown_stage="measure", shown_step=1, plan=plan)) == 2


def test_the_estimate_is_coarse_and_positive_and_only_for_running_jobs() -> None:
    later = NOON + timedelta(seconds=59)
    assert eta_seconds_of(job(shown_stage="pretrain", shown_step=200), now=later) == 65
    assert eta_seconds_of(job(shown_stage="pretrain", shown_step=15), now=NOON + timedelta(hours=1)) % 60 == 0
    assert eta_seconds_of(job(shown_step=50), now=NOON) == 5
    assert eta_seconds_of(job(shown_stage="measure"), now=later) is None
    assert eta_seconds_of(job(state="queued", shown_stage=None), now=later) is None
    assert eta_seconds_of(job(started_at=None), now=later) is None


def test_a_graphical_model_counts_its_releases_and_never_goes_back() -> None:
    plan = {"options": {"rounds": 4}, "steps": 0}
    marks = [percent_of(job(shown_stage="measure", shown_step=step, plan=plan)) for step in range(1, 10)]
    marks.append(percent_of(job(shown_stage="export", shown_step=1, plan=plan)))
    assert marks == sorted(marks)
    assert (marks[0], marks[-1]) == (2, 98)
    assert steps_of(job(shown_stage="measure", shown_step=3, plan=plan)) == (2, 9), (
        "in twentieths, rounded down"
    )


def test_epsilon_so_far_is_the_accountants_for_the_steps_that_a_cancellation_would_charge() -> None:
    ordered = plan()

    def so_far(**changes: object) -> float | None:
        return epsilon_so_far(job(plan=ordered.to_json(), plan_digest=ordered.digest(), **changes))

    def spent(steps: int) -> float:
        return epsilons(ordered.executed(steps), delta=ordered.guarantee.delta).reported

    assert so_far(state="queued", started_at=None, shown_stage=None) == 0
    assert so_far(shown_stage=None, stage="train", step=9) == 0, "no mark is shown yet"
    assert (
        so_far(shown_stage="measure", shown_step=1)
        == so_far(shown_stage="pretrain", shown_step=9)
        == spent(0)
    )
    for step in (1, 7, STEPS):
        assert so_far(shown_step=step) == spent(charged_steps(step, STEPS))
    assert so_far(state="queued", shown_step=7) == spent(7), "after a crash it still runs for its readers"
    assert (
        so_far(shown_stage="export", shown_step=1) == so_far(state="succeeded") == ordered.epsilons.reported
    )
    assert spent(0) < spent(1) < spent(7) < spent(STEPS) == ordered.epsilons.reported
    assert so_far(state="failed") is so_far(state="cancelled") is None
