import time
from typing import Any

import pytest

from core.plan.defaults import PRETRAINING_BY_CELLS
from core.plan.plan import make_plan
from core.plan.spec import MOST_FREE_STEPS, SynthesisSpec
from service.planning import planner as planner_module
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import OPTIONS, World, require_problem
from understudy.results.jobs import Quote
from understudy.wording.quotes import quote_lines


def body_of(dataset_id: str, **changes: object) -> dict[str, object]:
    return {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "options": OPTIONS} | changes


def test_a_quote_needs_no_rows_and_reserves_nothing(world: World) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    answer = world.analyst.post("/v1/quotes", body_of(dataset_id))
    assert answer.status_code == 200, answer.text
    quote = answer.json()
    assert quote["fits"] is True
    assert {"noise", "steps", "sampling_rate", "split", "epsilon", "remaining_epsilon_after"} <= set(quote)
    assert world.movements(dataset_id) == []


def test_a_quote_says_how_far_off_counts_will_be(world: World) -> None:
    dataset_id, larger = world.declare(), world.declare(declared_size=100_000)
    for each in (dataset_id, larger):
        world.set_budget(each)
    told = world.analyst.post("/v1/quotes", body_of(dataset_id)).json()["expected_error"]
    assert {"one_way", "two_way", "three_way", "if_independent", "released_counts", "measured"} == set(told)
    assert set(told["measured"]) == {
        "columns",
        "tables",
        "screened",
        "by_class",
        "combinations",
        "most_groups",
    }
    better = world.analyst.post("/v1/quotes", body_of(larger)).json()["expected_error"]
    assert better["two_way"] < told["two_way"]
    options = {"critic": True, "anchor": False}
    without = world.analyst.post("/v1/quotes", body_of(dataset_id, options=options)).json()
    assert (without["expected_error"], without["expected_error_missing"]) == (None, "no-anchor")


def test_a_quote_of_a_private_model_says_what_is_trained(world: World) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    order = {
        "dataset_id": dataset_id,
        "epsilon": 1.0,
        "delta": 1e-6,
        "model": {"steps": 20, "accuracy_share": 0.2},
    }
    answer = world.analyst.post("/v1/quotes", order)
    assert answer.status_code == 200, answer.text
    quote = answer.json()
    assert quote["fits"] is True
    assert quote["synthesizer"] == "model"
    assert (quote["steps"], quote["model"]["target"]) == (20, "sick")
    assert quote["model"]["accuracy_error"] > 0
    (caution,) = quote["model"]["cautions"]
    assert caution["code"] == "few-units"
    assert f"  CAUTION: {caution['detail']} [few-units]" in quote_lines(Quote(document=quote))
    assert world.movements(dataset_id) == []
    for wrong, code in (({"network": "cnn"}, "invalid-spec"), ({"unknown": 1}, "invalid-input")):
        require_problem(world.analyst.post("/v1/quotes", order | {"model": wrong}), status=422, code=code)
    both = order | {"options": OPTIONS}
    require_problem(world.analyst.post("/v1/quotes", both), status=422, code="invalid-input")


@pytest.mark.parametrize("neither", [0, 1, "no", "true"])
def test_whether_counts_are_reused_is_true_or_false(world: World, neither: object) -> None:
    dataset_id = world.declare()
    answer = world.analyst.post("/v1/quotes", body_of(dataset_id, reuse=neither))
    require_problem(answer, status=422, code="invalid-input")


def test_a_quote_says_when_it_does_not_fit(world: World) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id, epsilon=0.5)
    assert world.analyst.post("/v1/quotes", body_of(dataset_id)).json()["fits"] is False


def test_a_quote_without_a_budget(world: World) -> None:
    dataset_id = world.declare()
    require_problem(
        world.analyst.post("/v1/quotes", body_of(dataset_id, delta=None)), status=409, code="budget-not-set"
    )


def test_a_quote_is_the_same_before_and_after_the_upload(world: World) -> None:
    """Nothing in a quote can depend on rows: it is the same before there are any."""
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    before = world.analyst.post("/v1/quotes", body_of(dataset_id)).json()
    assert world.upload(dataset_id).status_code == 201
    assert world.analyst.post("/v1/quotes", body_of(dataset_id)).json() == before


def test_equal_plans_are_made_once_and_different_ones_are_not_mixed_up(world: World, monkeypatch) -> None:
    made = []

    def counting(**options: object) -> object:
        made.append(options)
        return make_plan(**options)

    monkeypatch.setattr(planner_module, "make_plan", counting)
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    twin = world.declare(name="same facts")
    world.set_budget(twin)
    larger = world.declare(declared_size=2000)
    world.set_budget(larger)
    narrower = world.declare(domain={**DOMAIN, "columns": DOMAIN["columns"][:3]})
    world.set_budget(narrower)
    answers = [
        world.analyst.post("/v1/quotes", body_of(each)).json() for each in (dataset_id, twin, dataset_id)
    ]
    assert len(made) == 1
    assert len({answer.pop("grant")["id"] for answer in answers}) == 2
    assert answers[0] == answers[1] == answers[2]
    world.analyst.post("/v1/quotes", body_of(larger))
    world.analyst.post("/v1/quotes", body_of(narrower))
    world.analyst.post("/v1/quotes", body_of(dataset_id, epsilon=0.9))
    assert len(made) == 4


def test_a_quote_is_quick(world: World) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    began = time.process_time()
    assert world.analyst.post("/v1/quotes", body_of(dataset_id, options={})).status_code == 200
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize("path", ["/v1/quotes", "/v1/jobs"])
@pytest.mark.parametrize("in_selection", [False, True])
def test_more_free_steps_than_the_service_makes_are_refused(
    world: World, path: str, in_selection: bool
) -> None:
    options = {"pretraining_steps": MOST_FREE_STEPS + 1}
    order: dict[str, Any] = {"dataset_id": world.ready(), "epsilon": 1.0, "delta": 1e-6, "options": options}
    if in_selection:
        candidates = [{}, {"options": order.pop("options")}]
        order["selection"] = {"candidates": candidates, "epsilon": 0.3, "choice_epsilon": 0.2}
    answer = world.analyst.post(path, order, headers={"Idempotency-Key": "one"})
    problem = require_problem(answer, status=422, code="too-many-free-steps")
    assert problem["facts"] == {"option": "pretraining_steps", "limit": MOST_FREE_STEPS}
    assert world.movements(order["dataset_id"]) == []


def test_plans_of_before_the_ceiling_are_read_as_ever() -> None:
    spec = SynthesisSpec(synthesizer="idpgan", options={"pretraining_steps": 10_000_000})
    assert SynthesisSpec(**spec.to_json()) == spec
    assert max(steps for _, steps in PRETRAINING_BY_CELLS) * 10 <= MOST_FREE_STEPS
