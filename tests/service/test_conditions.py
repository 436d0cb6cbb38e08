"""Drawing under a condition, through the API."""

import json

import pytest

from tests.service.world import World, require_problem


def test_columns_are_fixed_in_the_rows_that_are_drawn(world: World) -> None:
    path = f"/v1/releases/{world.release()}/samples"
    answer = world.analyst.get(
        path, params={"rows": 30, "format": "jsonl", "where": '{"sick": "no", "ward": "A"}'}
    )
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert len(rows) == 30
    assert {(row["sick"], row["ward"]) for row in rows} == {("no", "A")}


@pytest.mark.parametrize(
    "where", ["sick=no", "[]", '{"sick": "maybe"}', '{"x": 1}', "[" * 5000], ids=range(5)
)
def test_a_condition_that_cannot_be_met_is_named_as_such(world: World, where: str) -> None:
    path = f"/v1/releases/{world.release()}/samples"
    require_problem(world.analyst.get(path, params={"where": where}), status=422, code="invalid-condition")
