"""Timing: whatever the world sees of a training changes at edges of time only, whenever it really happened."""

from datetime import timedelta

import pytest

from core.db.tables import Job
from core.dp.charge import charge_of
from core.ledger.reservation import EntryKind
from core.platform.health.figures import job_figures
from core.platform.quotas.checks import require_job
from tests.privacy.leaks.day import BUCKET, Day, Look
from tests.service.world import NOON
from tests.workers.support import small_plan
from workers.child import CHARGED_IN_FULL, Outcome
from workers.training import Trainer


def edge_after(seconds: float) -> float:
    return BUCKET * (seconds // BUCKET + 1)


def require_seen_at_edges(seen: list[Look], *, ended: str, edge: float) -> None:
    """The end shows at the edge, not before; and nothing else ever changed between two edges."""
    # The last look but one is at the edge, before the end is written; a reader cannot tell it from just before.
    assert {look.state for look in seen[:-1]} == {"running"}
    assert (seen[-1].seconds, seen[-1].state) == (edge, ended)
    told: dict[float, set[int]] = {}
    for look in seen[:-1]:
        told.setdefault(look.seconds // BUCKET, set()).add(look.step)
    for bucket, steps in told.items():
        assert len(steps) <= 2, f"steps changed more than once in bucket {bucket}: {steps}"


@pytest.mark.parametrize("outcome", ["done", "data", "too-long", "too-large"])
@pytest.mark.parametrize("after", [0.5, 7.25, 13.0])
def test_an_end_shows_at_an_edge_and_is_stamped_with_it(day, monkeypatch, outcome, after):
    seen = day.train(monkeypatch, outcome=Outcome(outcome), after=after)
    edge = edge_after(after)
    require_seen_at_edges(seen, ended="succeeded" if outcome == "done" else "failed", edge=edge)
    job, release = day.workshop.job(day.job_id), day.workshop.release(day.job_id)
    assert job.finished_at == NOON + timedelta(seconds=edge)
    assert (release is None) == (outcome != "done")
    if release is not None:
        assert release.created_at == job.finished_at


def test_two_trainings_of_one_bucket_are_the_same_to_every_reader(day, monkeypatch):
    """What rows did to the speed is what differs between the two, and neither the row nor a reader tells it."""
    told = []
    for after in (1.5, 9.5):
        day.clock.at = NOON
        day.job_id = day.workshop.order()
        looks = day.train(monkeypatch, outcome=Outcome.DONE, after=after, marks=((after - 1, 30),))
        row = day.workshop.job(day.job_id)
        told.append((looks[-1], row.finished_at, row.shown_stage, row.shown_step))
    assert told[0] == told[1]


def test_marks_show_at_the_first_heartbeat_after_an_edge_and_in_twentieths(day, monkeypatch):
    marks = ((3, 10), (6, 20), (12, 35), (15, 50), (18, 55), (25, 59))
    seen = day.train(monkeypatch, outcome=Outcome.DONE, after=26, marks=marks)
    at = {look.seconds: look.step for look in seen}  # the later look of each moment
    assert [at[moment] for moment, _ in marks] == [0, 0, 33, 33, 33, 57]
    require_seen_at_edges(seen, ended="succeeded", edge=30)


def test_a_cancel_is_honoured_whether_the_work_is_held_back_or_still_runs(day, monkeypatch):
    seen = day.train(monkeypatch, outcome=Outcome.DONE, after=2.0, marks=((1, 60),), cancel_at=6.0)
    require_seen_at_edges(seen, ended="cancelled", edge=10)
    assert day.workshop.release(day.job_id) is None
    assert day.workshop.movements(day.job_id)[-1] is EntryKind.SETTLED


@pytest.mark.parametrize("outcome", ["data", "too-long", "too-large"])
def test_a_cancel_while_a_failure_is_held_back_does_not_make_it_cheaper(day, monkeypatch, outcome):
    day.train(monkeypatch, outcome=Outcome(outcome), after=2.0, marks=((1, 5),), cancel_at=6.0)
    assert day.workshop.job(day.job_id).state == "failed"
    assert day.workshop.movements(day.job_id)[-1] is EntryKind.SPENT


def test_a_crash_that_is_tried_again_is_seen_by_nobody(day, monkeypatch):
    """Not by readers of the job, nor of the metrics, nor by who is told how many jobs wait."""
    seen = day.train(monkeypatch, outcome=Outcome.VANISHED, after=2.0)
    row = day.workshop.job(day.job_id)
    assert row.state == "queued"
    assert {look.state for look in seen} == {"running"}
    with day.workshop.database.transaction() as session:
        jobs = job_figures(session, at=day.clock.now())
        require_job(session, row.ordered_by, limit=1)
    assert (jobs.by_state["queued"], jobs.by_state["running"], jobs.oldest_wait_seconds) == (0, 1, 0.0)
    assert sum(jobs.running_by_stage.values()) == 1


def test_the_charge_of_an_early_end_is_shown_in_twentieths_and_never_too_small(day, monkeypatch):
    """The ledger is read by everybody: steps begun in a given time would tell how large the batches were."""
    plan = small_plan()
    charges = set()
    for step in (22, 23, 24):
        day.clock.at = NOON
        day.job_id = day.workshop.order()
        day.train(monkeypatch, outcome=Outcome.DONE, after=2.0, marks=((1, step),), cancel_at=6.0)
        charge = day.workshop.reservation(day.job_id).in_force
        charges.add(charge)
        assert charge.rdp_micros >= charge_of(plan.executed(step), delta=plan.guarantee.delta).rdp_micros
    assert len(charges) == 1


def test_the_lease_is_kept_while_the_end_is_held_back(day, monkeypatch):
    leases = []
    look = Day.look

    def noting(self: Day) -> Look:
        leases.append(self.workshop.job(self.job_id).lease_expires_at)
        return look(self)

    monkeypatch.setattr(Day, "look", noting)
    day.train(monkeypatch, outcome=Outcome.DONE, after=0.5)
    held = [lease for lease in leases if lease is not None]
    assert held == sorted(held)
    assert held[-1] > held[0]


def test_a_worker_that_lost_its_lease_while_it_waited_publishes_nothing(day, monkeypatch):
    def takeover(self: Day) -> Look:
        if self.seconds > 4:
            with self.workshop.database.transaction() as session:
                session.get_one(Job, self.job_id).fence = 2
        return Look(self.seconds, "", 0)

    monkeypatch.setattr(Day, "look", takeover)
    day.train(monkeypatch, outcome=Outcome.DONE, after=0.5)
    assert day.workshop.release(day.job_id) is None
    assert day.workshop.job(day.job_id).state == "running"


def test_logs_and_traces_hold_one_word_for_every_failure_that_could_depend_on_rows():
    assert {outcome.public for outcome in CHARGED_IN_FULL} == {Outcome.DATA}
    assert {outcome for outcome in Outcome if outcome.public is outcome} == set(Outcome) - CHARGED_IN_FULL | {
        Outcome.DATA
    }


def test_publishing_at_once_is_noticed(day, monkeypatch):
    """The power of these tests: without the wait they fail."""
    # private: plants the fault of an outcome that is not held back
    monkeypatch.setattr(Trainer, "_held_back", lambda _self, outcome, *_: outcome)
    seen = day.train(monkeypatch, outcome=Outcome.DONE, after=7.25)
    with pytest.raises(AssertionError):
        require_seen_at_edges(seen, ended="succeeded", edge=10)


def test_showing_marks_at_once_is_noticed(day, monkeypatch):
    monkeypatch.setattr(
        "core.jobs.visible_progress.Edges.passed",
        lambda self, at: int((at - self.claimed_at).total_seconds() * 1000),
    )
    # private: plants the fault of an outcome that is not held back
    monkeypatch.setattr(Trainer, "_held_back", lambda _self, outcome, *_: outcome)
    marks = ((3, 10), (4, 20), (5, 35))
    seen = day.train(monkeypatch, outcome=Outcome.DONE, after=7.25, marks=marks)
    with pytest.raises(AssertionError):
        require_seen_at_edges(seen, ended="succeeded", edge=7.25)
