"""A failure that could depend on rows: charged in full, and the same to everybody whichever it was."""

import pytest

from core.dp.charge import charge_of
from core.jobs.states import Cause
from core.ledger.reservation import EntryKind
from service.jobs.schemas import JobView
from tests.service.world import NOON
from tests.workers.support import small_plan
from workers import training
from workers.child import Outcome
from workers.training import Trainer

# A child that vanished may have been killed for the memory that its rows took; this is its last attempt.
OUTCOMES = (Outcome.DATA, Outcome.TOO_LONG, Outcome.TOO_LARGE, Outcome.VANISHED)
OWN = {"id", "sealed_randomness_key", "created_at", "sent_at", "ordered_by"}


def ended(day, monkeypatch, outcome, *, after, step):
    """Everything that is written about a job that ended like this, its ids aside."""
    day.clock.at = NOON
    day.job_id = day.workshop.order()
    day.train(monkeypatch, outcome=outcome, after=after, marks=((0.2, step),))
    row = day.workshop.job(day.job_id)
    view = JobView.of(row, release_id=None, now=day.clock.now()).model_dump(mode="json")
    ledger = day.workshop.reservation(day.job_id)
    return (
        {name: value for name, value in view.items() if name not in OWN},
        (ledger.state, ledger.in_force),
        {name: getattr(row, name) for name in ("state", "failure_code", "finished_at")},
    )


def test_the_cause_and_the_place_of_a_failure_are_not_shown(day, monkeypatch):
    day.workshop.settings = day.workshop.settings.model_copy(update={"job_attempts": 1})
    told = [
        ended(day, monkeypatch, outcome, after=after, step=step)
        for outcome, after, step in zip(OUTCOMES, (0.5, 3.0, 7.0, 9.9), (3, 15, 30, 60), strict=True)
    ]
    view, (state, charged), _ = told[0]
    assert told == [told[0]] * len(OUTCOMES)
    assert view["failure"] == {
        "code": "training-failed",
        "detail": "The training did not finish. The operator can find the cause in the log by the job's id.",
    }
    plan = small_plan()
    assert (state, charged) == (EntryKind.SPENT, charge_of(plan.mechanism, delta=plan.guarantee.delta))


def test_settling_such_a_failure_would_be_noticed(day, monkeypatch):
    day.workshop.settings = day.workshop.settings.model_copy(update={"job_attempts": 1})
    settled = dict.fromkeys((Outcome.TOO_LONG, Outcome.TOO_LARGE), Cause.MACHINERY)
    monkeypatch.setattr(training, "CAUSES", training.CAUSES | settled)
    told = [ended(day, monkeypatch, outcome, after=1, step=3) for outcome in OUTCOMES]
    assert told != [told[0]] * len(OUTCOMES)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_log_has_the_same_word(day, monkeypatch, capsys, outcome):
    """But for a child that vanished: that a machine killed it is the machine's to tell."""
    ended(day, monkeypatch, outcome, after=1, step=3)
    said = capsys.readouterr().out
    assert "attempt-ended" in said
    assert ("too-l" in said, "vanished" in said) == (False, outcome is Outcome.VANISHED)


def test_one_word_for_each_would_be_noticed(day, monkeypatch, capsys):
    monkeypatch.setattr(Outcome, "public", property(lambda self: self))
    # private: plants the fault of an outcome that is not held back
    monkeypatch.setattr(Trainer, "_held_back", lambda _self, outcome, *_: outcome)
    ended(day, monkeypatch, Outcome.TOO_LARGE, after=1, step=3)
    assert "too-large" in capsys.readouterr().out
