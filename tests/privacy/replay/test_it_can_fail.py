"""The harness itself: planted leaks are seen, each in its channel, and every mask has a reason."""

import pytest

from core.db.tables import Dataset, Upload, UploadPart, WaitingRows
from tests.cases import daily
from tests.privacy.replay.evidence import OWNERS_COLUMNS, WALL_CLOCK, differences
from tests.privacy.replay.job import Job, neighbours
from tests.privacy.replay.leaks import APART, LEAKS, TOO_SENSITIVE, fresh_noise, skipped_step
from tests.privacy.replay.neighbours import UNITS
from tests.privacy.test_replay import replayed
from tests.privacy.whole_job import DECLARED_SIZE, csv_of, declared, plan_for, table_of

SHORT = Job(options={"steps": 2, "pretraining_steps": 1, "expected_batch_size": DECLARED_SIZE})
"""Every unit is in every batch, the one more among them."""


@pytest.mark.parametrize(
    "leak", daily(LEAKS, some=["a mark that depends on the batch", "a statement for each row"])
)
def test_a_planted_leak_is_seen(leak, new_place, monkeypatch):
    plant, channel = LEAKS[leak]
    rows = table_of(60, by_person=False)
    plant(monkeypatch)
    pair = neighbours([new_place(), new_place()], [rows, [*rows, *UNITS["ordinary"]]], SHORT)
    assert channel in differences(pair.before, pair.after)


def test_leaks_planted_together_are_seen_each_in_its_own_channel(new_place, monkeypatch):
    rows = table_of(60, by_person=False)
    for plant, _ in APART.values():
        plant(monkeypatch)
    pair = neighbours([new_place(), new_place()], [rows, [*rows, *UNITS["ordinary"]]], SHORT)
    expected = set().union(*(channels for _, channels in APART.values()))
    assert set(differences(pair.before, pair.after)) == expected


def test_a_step_that_depends_on_the_batch_breaks_the_replay(new_place, monkeypatch):
    skipped_step(monkeypatch)
    rows = table_of(60, by_person=False)
    with pytest.raises(AssertionError, match=r"training-failed|the plan's releases"):
        neighbours([new_place(), new_place()], [rows, [*rows, *UNITS["ordinary"]]], SHORT)


@pytest.mark.parametrize("bug", TOO_SENSITIVE)
def test_too_much_sensitivity_breaks_the_replay(bug, tmp_path, monkeypatch):
    plant, options = TOO_SENSITIVE[bug]
    plant(monkeypatch)
    unit = "a person with many records"
    domain, rows = declared(target=True, by_person=True), table_of(60, by_person=True)
    plan = plan_for(domain, options | {"expected_batch_size": DECLARED_SIZE})
    with pytest.raises(AssertionError):
        replayed((csv_of(rows), csv_of([*rows, *UNITS[unit]])), domain, plan, folder=tmp_path, kill=2)


def test_fresh_noise_on_resume_breaks_the_recording(tmp_path, monkeypatch):
    fresh_noise(monkeypatch)
    domain, content = declared(target=True, by_person=False), csv_of(table_of(60, by_person=False))
    with pytest.raises(AssertionError, match="noised twice"):
        replayed((content, content), domain, plan_for(domain, {}), folder=tmp_path, kill=6, unsaved=True)


def test_only_what_the_owner_sent_is_masked():
    known = {
        table.__tablename__: table.__table__.columns.keys()
        for table in (Dataset, WaitingRows, Upload, UploadPart)
    }
    for (table, column), reason in OWNERS_COLUMNS.items():
        assert column in known[table]
        assert reason
    assert all(WALL_CLOCK.values())
