"""Selections through the API: both prices before anything runs, and an order that reserves exactly the total."""

from typing import Any

import pytest

from tests.service.world import OPTIONS, World, require_problem

SELECTION: dict[str, Any] = {
    "candidates": [{"options": OPTIONS}, {"options": {"steps": 60, "anchor": False}}],
    "epsilon": 0.5,
    "choice_epsilon": 0.2,
}


def body_of(dataset_id: str, **changes: object) -> dict[str, object]:
    return {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "selection": SELECTION} | changes


def test_a_quote_tells_both_prices_and_reserves_nothing(world: World) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)

    answer = world.analyst.post("/v1/quotes", body_of(dataset_id))

    assert answer.status_code == 200, answer.text
    quote = answer.json()
    assert quote["fits"] is True
    selecting, final = quote["selection"]["epsilon"]["reported"], quote["final"]["epsilon"]["reported"]
    assert 0.49 < selecting < 0.55
    assert 0.99 < final < 1.05
    assert max(selecting, final) < quote["epsilon"]["reported"] < selecting + final
    assert quote["selection"]["parts"] == 3
    assert world.movements(dataset_id) == []


def test_an_order_reserves_the_total_and_queues(world: World) -> None:
    dataset_id = world.ready()
    quote = world.analyst.post("/v1/quotes", body_of(dataset_id)).json()

    answer = world.order(dataset_id, options={}, selection=SELECTION)

    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert job["plan_digest"] == quote["plan_digest"]
    assert job["progress"]["epsilon_planned"] == quote["epsilon"]["reported"]
    (reserved,) = world.movements(dataset_id)
    assert reserved["job_id"] == job["id"]
    shown = world.analyst.get(f"/v1/jobs/{job['id']}").json()
    assert (shown["state"], shown["progress"]["percent"]) == ("queued", 0)


def test_the_same_order_twice_is_one_and_with_another_selection_it_is_another(world: World) -> None:
    dataset_id = world.ready()
    first = world.order(dataset_id, key="one", options={}, selection=SELECTION)
    again = world.order(dataset_id, key="one", options={}, selection=SELECTION)
    other = world.order(dataset_id, key="one", options={}, selection=SELECTION | {"epsilon": 0.6})

    assert again.json() == first.json()
    assert other.status_code == 409


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"selection": SELECTION | {"candidates": [{"options": OPTIONS}] * 2}}, "invalid-selection"),
        (
            {"selection": SELECTION | {"candidates": [{}, {"options": {"expected_batch_size": 10**6}}]}},
            "invalid-selection",
        ),
        ({"selection": SELECTION | {"candidates": [{}, {"options": {"stepz": 1}}]}}, "invalid-spec"),
        ({"selection": SELECTION | {"choice_epsilon": 500.0}}, "invalid-guarantee"),
        ({"selection": SELECTION | {"candidates": [{}]}}, "invalid-input"),
        ({"options": OPTIONS}, "invalid-input"),
    ],
)
def test_what_makes_no_selection_is_refused(world: World, changes: dict[str, Any], code: str) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)

    require_problem(world.analyst.post("/v1/quotes", body_of(dataset_id, **changes)), status=422, code=code)


def test_without_a_target_there_is_no_selection(world: World) -> None:
    from tests.core.artifacts.stand_in import DOMAIN

    dataset_id = world.declare(domain={**DOMAIN, "target": None})
    world.set_budget(dataset_id)

    answer = world.analyst.post("/v1/quotes", body_of(dataset_id))
    require_problem(answer, status=422, code="invalid-selection")
