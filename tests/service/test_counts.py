"""Asking the noisy counts of a release, through the API."""

import pytest

from core.artifacts.asking.answer import OpenedCounts
from core.platform.access.roles import Role
from tests.core.artifacts.certified import certified
from tests.service.test_obtaining import wired
from tests.service.world import World, require_problem

MADE = certified({"critic": False})


@pytest.fixture(scope="module")
def world(shared_world: World) -> World:
    """One for all tests: asking changes nothing."""
    return shared_world


@pytest.fixture(scope="module")
def path(world: World) -> str:
    return f"/v1/releases/{world.release(MADE.bundle)}/counts"


def test_an_answer_is_what_the_bundle_says(world: World, path: str) -> None:
    question = "ward by sick where age between 50 and 99"
    expected = OpenedCounts.open(MADE.packed).answer(question).to_json()
    for caller in (world.analyst, world.owner):
        answer = caller.get(path, params={"question": question})
        assert answer.status_code == 200, answer.text
        assert answer.json() == expected
    with wired(world, analyst=world.analyst).client("analyst") as client:
        release = client.read_release(path.split("/")[3])
        assert release.ask(question).document == expected


@pytest.mark.parametrize(
    ("question", "status", "code"),
    [
        ("wrad", 422, "question-invalid"),
        ("ward where sick = perhaps", 422, "question-invalid"),
        ("ward by age by seen by sick", 409, "not-counted"),
        ("", 422, "invalid-input"),
        ("x" * 2001, 422, "invalid-input"),
        ("'" * 1999, 422, "question-invalid"),
        ("ward\x00", 422, None),
    ],
)
def test_what_cannot_be_answered_is_refused(
    world: World, path: str, question: str, status: int, code: str | None
) -> None:
    answer = world.analyst.get(path, params={"question": question})
    told = require_problem(answer, status=status, **({} if code is None else {"code": code}))
    assert "perhaps" not in answer.text
    assert told["remedy"]


def test_an_answer_by_assumption_says_so(world: World, path: str) -> None:
    answer = world.analyst.get(path, params={"question": "ward by age by seen"}).json()
    assert answer["basis"] == "assumed"
    assert answer["notes"][0].startswith(
        "Estimated, not counted: ward, age and seen were not counted together."
    )
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in answer["rows"])
    assert {row["standard_error"] for row in answer["rows"]} == {None}
    assert world.analyst.get(path, params={"question": "ward by age"}).json()["basis"] == "counted"


def test_a_release_without_counts_says_so(world: World) -> None:
    path = f"/v1/releases/{world.release()}/counts"
    require_problem(world.analyst.get(path, params={"question": "ward"}), status=409, code="no-counts")


def test_strangers_and_auditors_are_not_answered(world: World, path: str) -> None:
    asked = {"params": {"question": "ward"}}
    require_problem(world.stranger.get(path, **asked), status=404, code="release-not-found")
    auditor = world.caller(Role.AUDITOR)
    require_problem(auditor.get(path, **asked), status=403, code="role-missing")
