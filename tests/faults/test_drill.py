"""The first 22 rounds of the fault drill (tests.faults.drill), on one real stack; and that its checks can fail.

Every fault has its turn in them. Two rounds are daily, the others long: killed workers and killed children are daily in
`tests/workers/test_faults.py` and `tests/workers/test_training_child.py`. Faults that need no publication are also done
by themselves every day.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from uuid import uuid4

import pytest
from sqlalchemy import text

from tests.faults.checks import services_left, violations
from tests.faults.drill import Drill, blows_of
from tests.faults.faults import FAULTS
from tests.faults.processes import MARK, marked

pytestmark = pytest.mark.system

SEED = 2026
ROUNDS = 22
DAILY = {
    2: "kill everything",
    14: "frozen worker",
}
"""Daily rounds, with a fault of each that no other of them has."""


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    with Drill(tmp_path_factory.mktemp("drill"), seed=SEED) as drill:
        yield drill


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, marks=() if number in DAILY else pytest.mark.long)
        for number in range(1, ROUNDS + 1)
    ],
)
def test_a_disturbed_round_leaves_everything_in_order(drill: Drill, number: int) -> None:
    played = drill.play(number)
    assert played.violations == [], f"seed {SEED} round {number}: {played.landed}"
    assert played.broken == [], "what is away is said to be away"
    if number in DAILY:
        assert DAILY[number] in played.landed


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.long if kind == "frozen worker of two owners" else ())
        for kind, fault in FAULTS.items()
        if fault.beside
    ],
)
def test_what_is_no_training_recovers_alike(drill: Drill, kind: str) -> None:
    assert drill.disturb(kind) == []


def test_the_checks_see_what_has_not_recovered(drill: Drill) -> None:
    """Alter what the faults beside a publication left, in transactions that are rolled back."""
    stack = drill.stack
    altered = {
        "UPDATE uploads SET state = 'aborted'": "an upload is aborted",
        "UPDATE datasets SET rows_key = 'datasets/gone' WHERE id IN (SELECT dataset_id FROM uploads)": "do not open",
        "UPDATE sealed_reports SET state = 'running', lease_expires_at = now(), object_key = NULL,"
        " finished_at = NULL": "a report is running",
        "UPDATE sealed_reports SET object_key = object_key || 'x'": "a report has 1 files",
        "UPDATE notification_deliveries SET state = 'waiting', next_at = now()": "a delivery is waiting",
    }
    for statement, expected in altered.items():
        with stack.database() as database, database.read_only() as session:
            assert list(services_left(stack, session)) == []
        with stack.database() as database, database.transaction() as session:
            session.execute(text(statement))
            found = list(services_left(stack, session))
            session.rollback()
        assert any(expected in each for each in found), expected


@pytest.mark.parametrize("run", ["daily", pytest.param("long", marks=pytest.mark.long)])
def test_everything_that_all_rounds_left_is_in_order(drill: Drill, run: str) -> None:
    assert drill.rounds, run
    assert drill.conclude() == []


def test_the_checks_see_what_is_out_of_order(drill: Drill) -> None:
    """Plant each kind of leftover; every one of them must be reported."""
    stack = drill.stack
    planted = {
        stack.objects / "releases" / str(uuid4()) / "bundle-1.zip": "an unpublished bundle",
        stack.objects / "jobs" / str(uuid4()) / "checkpoint-1.sealed": "an ended job left",
        stack.objects / "datasets" / str(uuid4()) / "rows.sealed": "an unsealed piece of rows",
        stack.folder.path / "scratch" / "intake-planted": "a plain scratch file",
    }
    for path in planted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("age,colour")
    orphan = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=os.environ | {MARK: stack.mark}
    )
    try:
        found = violations(stack, dataset_id=None, reference=None, ends=frozenset(), quiet_seconds=1.0)
    finally:
        orphan.communicate()
        for path in planted:
            path.unlink()
    for expected in (*planted.values(), "an orphan process"):
        assert any(expected in each for each in found), expected
    assert violations(stack, dataset_id=None, reference=None, ends=frozenset()) == []


def test_a_round_is_the_same_whenever_it_is_played_and_every_fault_has_its_turn() -> None:
    assert blows_of(SEED, 7) == blows_of(SEED, 7)
    assert blows_of(SEED, 7) != blows_of(SEED + 1, 7)
    first = [blows_of(SEED, number) for number in range(1, len(FAULTS) + 1)]
    assert {blow.kind for blows in first for blow in blows} == set(FAULTS)
    assert len(FAULTS) <= ROUNDS
    for number, fault in DAILY.items():
        assert fault in {blow.kind for blow in blows_of(SEED, number)}


def test_nothing_outlives_a_drill(drill: Drill) -> None:
    drill.stack.end()
    assert marked(drill.stack.mark) == []
