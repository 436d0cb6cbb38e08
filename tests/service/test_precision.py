"""The precision of a release: the expected error of its plan, and the standard errors that answers state."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from core.artifacts.asking.hidden import REMEDY
from core.platform.access.roles import Role
from tests.core.artifacts.certified import certified
from tests.core.artifacts.few import release_of_few
from tests.service.test_obtaining import wired
from tests.service.world import World, require_problem
from understudy.cli.releases import precision_lines
from understudy.cli.sample import sample_online
from understudy.cli.screen import TerminalScreen

MADE = certified({"critic": False})


@pytest.fixture(scope="module")
def world(shared_world: World) -> World:
    """One for all tests: asking changes nothing."""
    return shared_world


def _released(world: World, **changes: object) -> str:
    return world.release(MADE.bundle, **(MADE.certificate | changes))


def test_the_error_is_that_of_the_quote_and_errors_of_counts_those_of_answers(world: World) -> None:
    release_id = _released(world)
    found = world.analyst.get(f"/v1/releases/{release_id}/precision").json()
    assert found["expected_error_missing"] is None
    assert 0 < found["expected_error"]["one_way"] < 1
    assert found["counted"] == "records"
    for column in found["columns"]:
        answer = world.analyst.get(
            f"/v1/releases/{release_id}/counts", params={"question": column["name"]}
        ).json()
        assert len(answer["rows"]) == column["values"]
        assert {round(row["standard_error"], 6) for row in answer["rows"]} == {
            round(column["standard_error"], 6)
        }


def test_a_plan_of_another_declaration_has_no_known_error(world: World) -> None:
    release_id = _released(world, data_domain={"sha256": "0" * 64})
    found = world.analyst.get(f"/v1/releases/{release_id}/precision").json()
    assert (found["expected_error"], found["expected_error_missing"]) == (None, "unknown-plan")
    assert found["columns"]


@pytest.mark.parametrize("who", ["stranger", "auditor"])
def test_it_is_for_those_who_may_query_the_counts(world: World, who: str) -> None:
    release_id = _released(world)
    caller = world.stranger if who == "stranger" else world.caller(Role.AUDITOR)
    refused = caller.get(f"/v1/releases/{release_id}/precision")
    assert refused.status_code == (404 if who == "stranger" else 403)


@pytest.fixture(scope="module")
def of_few(world: World) -> str:
    """A release with a value that few records have."""
    made, listed = release_of_few()
    return world.release(made, artefacts=listed)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (None, "The noise hides 'no', the smallest class of the target."),
        ({"sick": "no"}, "Few records have such a value of 'sick'"),
        ({"sick": ["no"], "age": {"from": 3}}, "Few records have such a value of 'sick'"),
        ({"sick": "yes"}, None),
        ({"ward": ["A", "Ü"]}, None),
        ({"age": {"above": 50}}, None),
    ],
)
def test_it_says_what_the_noise_hides(
    world: World, of_few: str, where: dict[str, Any] | None, said: str | None
) -> None:
    path = f"/v1/releases/{of_few}/precision"
    found = world.analyst.get(path, params={} if where is None else {"where": json.dumps(where)}).json()
    assert [line.startswith(str(said)) for line in found["hidden"]] == ([] if said is None else [True])
    assert all(line.endswith(REMEDY) for line in found["hidden"])


def test_conditions_of_it_are_those_of_samples(world: World, of_few: str) -> None:
    path = f"/v1/releases/{of_few}/precision"
    require_problem(
        world.analyst.get(path, params={"where": '{"sick": "maybe"}'}), status=422, code="invalid-condition"
    )


def test_the_commands_say_it_in_the_same_words(world: World, of_few: str, tmp_path: Path) -> None:
    sentence = world.analyst.get(f"/v1/releases/{of_few}/precision").json()["hidden"][0]
    with wired(world, analyst=world.analyst).client("analyst") as client:
        assert precision_lines(client.read_precision(of_few))[0] == f"WARNING: {sentence}"
        told = io.StringIO()
        screen = TerminalScreen(Console(file=told, width=1000))
        for where in ({"sick": "no"}, {"sick": "yes"}):
            sample_online(
                client, of_few, tmp_path / "rows.csv", 5, "csv", where, screen, spreadsheet_safe=False
            )
    assert told.getvalue().count("WARNING: Few records have such a value of 'sick'") == 1
