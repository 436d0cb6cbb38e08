"""`make check-long`: its parts exist, its record is sound, and a run that was not whole is not called whole."""

import json
import re
from pathlib import Path

import pytest

from docs.long_proofs_page import PARTS, RESULTS, render
from tests.long_proofs import counts, play, set_by_hand

ROOT = Path(__file__).parents[2]
WHERE = {"date": str, "commit": str, "variables": str, "processor": str, "cores": int}
RUN = WHERE | {"passed": bool, "seconds": int}


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "long_proofs.json"
    path.write_text('{"parts": {}, "whole": null}')
    return path


def passing(target):
    return 0, [f"make {target}\n", "12 passed, 1 skipped in 3.45s (0:00:03)\n"], 3.6


def test_every_part_is_a_target_and_the_weekly_run_plays_them():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(PARTS) <= targets
    assert "make check-long" in (ROOT / ".ci" / "weekly").read_text()


def test_the_record_in_the_repository_has_the_shape_of_a_record():
    record = json.loads(RESULTS.read_text())
    assert set(record) == {"parts", "whole"}
    assert set(record["parts"]) <= set(PARTS)
    for run in record["parts"].values():
        assert {name: type(value) for name, value in run.items()} == RUN | {"tests": dict}
    if record["whole"] is not None:
        assert {name: type(value) for name, value in record["whole"].items()} == RUN
        assert set(record["parts"]) == set(PARTS)


def test_an_empty_record_claims_nothing(results):
    page = render(json.loads(results.read_text()))
    assert "none is recorded yet" in page
    assert page.count("not recorded yet") == len(PARTS)


def test_some_parts_are_not_the_whole(results):
    assert play(["laws", "fuzz"], passing, commit="0123abc", results=results)
    record = json.loads(results.read_text())
    assert record["whole"] is None
    assert record["parts"]["laws"]["tests"] == {"passed": 12, "skipped": 1}
    page = render(record)
    assert "passed (12 passed, 1 skipped)" in page
    assert page.count("not recorded yet") == len(PARTS) - 2


def test_parts_that_run_one_after_the_other_on_one_commit_are_the_whole(results):
    first, *rest = PARTS
    play([first], passing, commit="0123abc", results=results)
    play(rest, passing, commit="4567def", results=results)
    assert json.loads(results.read_text())["whole"] is None
    play([first], passing, commit="4567def", results=results)
    whole = json.loads(results.read_text())["whole"]
    assert (whole["commit"], whole["passed"], whole["seconds"]) == ("4567def", True, 4 * len(PARTS))


def test_a_part_that_fails_keeps_no_other_from_running_and_fails_the_whole(results):
    ran = []

    def run(target):
        ran.append(target)
        status, lines, seconds = passing(target)
        return (2 if target == "mutants" else status), lines, seconds

    assert not play(PARTS, run, commit="0123abc", results=results)
    assert ran == list(PARTS)
    record = json.loads(results.read_text())
    assert record["whole"]["passed"] is False
    assert record["whole"]["seconds"] == 4 * len(PARTS)
    assert [name for name, part in record["parts"].items() if not part["passed"]] == ["mutants"]


def test_what_was_run_before_an_interruption_is_kept(results):
    def run(target):
        if target == "laws":
            raise KeyboardInterrupt
        return passing(target)

    with pytest.raises(KeyboardInterrupt):
        play(PARTS, run, commit="0123abc", results=results)
    record = json.loads(results.read_text())
    assert set(record["parts"]) == {"test-long", "mutants", "test-kernels"}
    assert record["whole"] is None


def test_the_variables_of_make_that_were_set_by_hand_are_stated(results):
    assert (
        set_by_hand("-- ROUNDS=21 ONLY=tests/models\\ tests/core") == "ROUNDS=21 ONLY=tests/models tests/core"
    )
    assert set_by_hand("w") == set_by_hand("") == ""
    play(PARTS, passing, commit="0123abc", variables="ROUNDS=21", results=results)
    assert render(json.loads(results.read_text())).count("with ROUNDS=21") == len(PARTS) + 1


def test_counts_of_several_runs_are_added():
    lines = ["== 2 failed, 9 passed in 8.10s ==", "3 passed in 0.5s", "4 passed things", "1 error in 2.00s"]
    assert counts(lines) == {"failed": 2, "passed": 12, "error": 1}
