"""The precision of a release: the expected error of its plan, and the standard errors that answers state."""

import pytest

from core.platform.access.roles import Role
from tests.core.artifacts.certified import certified
from tests.service.world import World

MADE = certified({"critic": False})


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
