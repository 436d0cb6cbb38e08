"""A whole job through service, workers and database, replayed on neighbours: nothing but the releases tells them apart."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.plan.plan import Plan
from tests.cases import daily
from tests.privacy.replay.deployment import Place
from tests.privacy.replay.evidence import Evidence, differences, explained
from tests.privacy.replay.exporting import exported_once
from tests.privacy.replay.job import Job, neighbours, replayed, whole_job
from tests.privacy.replay.neighbours import UNITS, is_person
from tests.privacy.seam import Recorder
from tests.privacy.whole_job import table_of

KILLED_TWICE = (2, 6)
"""Checkpoints that are never saved: one in the middle of pre-training, one in the middle of private training."""

Recorded = Callable[[bool], tuple[Evidence, Recorder, Plan]]


REMOVED = ("ordinary", "not a number", "a new category", "a person with records of every kind")
"""Units that are taken away here; all are in tests/privacy/test_replay.py."""
DAILY = ("ordinary", "not a number", "refused", "a person with many records")
"""Units that are added on every change: the plain one, mishaps, a person. The others run weekly; all are in test_replay."""


def job_for(*, by_person: bool) -> Job:
    return Job(by_person=by_person, in_parts=by_person, kill_at=KILLED_TWICE)


def base(*, by_person: bool) -> list[str]:
    """The table without the unit; where there are persons, long enough to need two parts with and without the unit."""
    return table_of(200 if by_person else 90, by_person=by_person)


@pytest.fixture(scope="module")
def recorded(new_place: Callable[[], Place]) -> Recorded:
    """The job on the table without the unit, run once for all units that are added."""
    kept: dict[bool, tuple[Evidence, Recorder, Plan]] = {}

    def record(by_person: bool) -> tuple[Evidence, Recorder, Plan]:
        if by_person not in kept:
            recorder = Recorder()
            rows = base(by_person=by_person)
            job = replace(job_for(by_person=by_person), export=exported_once)
            before, plan = whole_job(new_place(), rows, job, recorder)
            kept[by_person] = (before, recorder, plan)
        return kept[by_person]

    return record


@pytest.mark.parametrize("unit", daily(UNITS, some=DAILY))
def test_a_unit_more_is_seen_by_nobody(unit, recorded, new_place):
    by_person = is_person(unit)
    rows = [*base(by_person=by_person), *UNITS[unit]]
    job = replace(job_for(by_person=by_person), export=exported_once)
    pair = replayed(new_place(), rows, job, recorded=recorded(by_person))
    assert differences(pair.before, pair.after) == [], explained(pair.before, pair.after)
    moved = max(pair.replayer.distances.values())
    assert (moved > 0) == (unit != "refused"), "the unit took part, so the test could have failed"


@pytest.mark.parametrize("unit", daily(REMOVED, some=("a person with records of every kind",)))
def test_a_unit_less_is_seen_by_nobody(unit, new_place):
    by_person = is_person(unit)
    rows = base(by_person=by_person)
    pair = neighbours([new_place(), new_place()], [[*rows, *UNITS[unit]], rows], job_for(by_person=by_person))
    assert differences(pair.before, pair.after) == [], explained(pair.before, pair.after)
