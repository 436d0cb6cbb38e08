"""What figures say would be left of the budget of a dataset whose categories are learnt, against what an order leaves."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from core.db.tables import Dataset
from core.ledger import ledger
from core.platform.access.roles import Principal, Role
from service.budgets.outlook import look_at_sizes
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder
from service.quotes.order_delta import default_delta_of_order
from tests.service.test_learnt_domains import DOMAIN, ROWS
from tests.service.world import World, require_problem

DECLARED = DOMAIN | {
    "columns": [
        {"name": "code", "kind": "categorical", "categories": ["C1"], "unknown": "other", "other": True},
        {"name": "dose", "kind": "numeric", "type": "real", "lower": 0, "upper": 9},
        *DOMAIN["columns"][2:],
    ]
}
CAP = {"epsilon": 1.5, "delta": 1e-5}


@pytest.fixture
def dataset_id(world: World) -> str:
    found = world.declare(domain=DOMAIN)
    assert world.upload(found, ROWS).status_code == 201
    assert world.admin.put(f"/v1/datasets/{found}/budget", CAP).status_code == 200
    return found


def budget(world: World, dataset_id: str) -> dict[str, Any]:
    found: dict[str, Any] = world.admin.get(f"/v1/datasets/{dataset_id}/budget").json()
    return found


def overview(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.admin.get("/v1/overview").json()
    return found


def test_every_figure_of_what_would_be_left_is_what_the_order_leaves(world: World, dataset_id: str) -> None:
    wanted = {"epsilon": 1.0, "delta": 1.25e-6, "purpose": "a study"}
    assert world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", wanted).status_code == 201
    (waiting,) = overview(world)["requests"]
    world.give(dataset_id, epsilon=1.0, delta=1.25e-6)
    path = f"/v1/datasets/{dataset_id}/budget/what-if"
    told = [
        who.post(path, {"epsilon": 1.0, "delta": 6.25e-7}).json()["cap"]
        for who in (world.admin, world.analyst)
    ]
    quote = world.analyst.post("/v1/quotes", {"dataset_id": dataset_id, "epsilon": 1.0}).json()

    assert world.order(dataset_id, epsilon=1.0, delta=None, options={}).status_code == 202
    left = budget(world, dataset_id)["remaining_epsilon"]

    assert left == 0.5, "basic composition alone covers a job that learns categories"
    assert waiting["remaining_epsilon_after"] == left
    assert [one["remaining_epsilon_after"] for one in told] == [left, left]
    assert {one["carried_by"] for one in told} == {"basic"}
    assert quote["remaining_epsilon_after"] == left
    assert overview(world)["datasets"][0]["budget"]["remaining_epsilon"] == left


def test_what_is_left_beside_other_jobs_is_what_a_generator_may_have(world: World, dataset_id: str) -> None:
    """Jobs of an earlier version without learnt categories are Gaussian: what Renyi filters have left is not for this dataset."""
    declared = world.declare(parent_dataset_id=dataset_id, domain=DECLARED)
    assert world.upload(declared, ROWS).status_code == 201
    world.give(dataset_id, epsilon=1.5)
    for _ in range(2):
        assert world.order(declared, epsilon=0.7, delta=6.25e-7, options={}).status_code == 202
    (grant,) = world.analyst.get("/v1/grants").json()["items"]
    own, of_version = budget(world, dataset_id), budget(world, declared)

    assert own["remaining_epsilon"] == pytest.approx(0.1, abs=2e-4)
    assert of_version["remaining_epsilon"] > 0.3, "the versions' budget is one, and Gaussian jobs compose"
    assert grant["remaining_epsilon"] == pytest.approx(0.1, abs=2e-4), "the lower one: a grant is on both"
    (usable,) = world.analyst.get("/v1/overview").json()["own_grants"]
    assert usable["orderable_epsilon"] == pytest.approx(0.1, abs=2e-4)
    body = {"dataset_id": dataset_id, "options": {}}
    quotes = {
        epsilon: world.analyst.post("/v1/quotes", body | {"epsilon": epsilon}).json()
        for epsilon in (0.09, 0.2)
    }
    assert quotes[0.09]["fits"] is True
    assert quotes[0.2]["refusal"] == "budget-refused"
    assert quotes[0.2]["cap"]["short_of"] == ["epsilon"]
    refused = require_problem(
        world.order(dataset_id, epsilon=0.2, delta=1e-7, options={}), status=409, code="budget-refused"
    )
    assert "has 0.1 left for one more order" in refused["detail"]


def test_a_grant_of_an_epsilon_admits_an_order_of_that_epsilon(world: World, dataset_id: str) -> None:
    world.give(dataset_id, epsilon=1.0, delta=1e-6)
    (grant,) = world.analyst.get("/v1/grants").json()["items"]
    assert grant["remaining_epsilon"] == 1.0

    quote = world.analyst.post("/v1/quotes", {"dataset_id": dataset_id, "epsilon": 1.0}).json()
    told = world.analyst.post(f"/v1/datasets/{dataset_id}/budget/what-if", {"epsilon": 1.0}).json()

    assert (quote["fits"], quote["guarantee"]["delta"]) == (True, 5e-7), (
        "half of the grant's delta is for its jobs"
    )
    assert (told["fits"], told["delta"]) == (True, 5e-7)
    ordered = world.order(dataset_id, epsilon=1.0, delta=None, options={})
    assert ordered.status_code == 202, ordered.text
    assert ordered.json()["progress"]["delta_planned"] == 5e-7


def test_delta_does_not_run_out_before_epsilon(world: World, dataset_id: str) -> None:
    grant = world.give(dataset_id, epsilon=1.0, delta=1e-6)
    deltas = []
    for epsilon, left in ((0.25, 0.75), (0.5, 0.25), (0.25, 0.0)):
        answer = world.order(dataset_id, epsilon=epsilon, delta=None, options={})
        assert answer.status_code == 202, answer.text
        deltas.append(answer.json()["progress"]["delta_planned"])
        standing = world.analyst.get(f"/v1/grants/{grant}").json()["remaining_epsilon"]
        assert standing == pytest.approx(left, abs=2e-4)
    assert deltas == [1.25e-7, 2.5e-7, 1.25e-7]


def test_a_grant_with_delta_enough_changes_no_default(world: World, dataset_id: str) -> None:
    world.give(dataset_id, epsilon=1.0, delta=1.25e-6)
    told = world.analyst.post(f"/v1/datasets/{dataset_id}/budget/what-if", {"epsilon": 0.1}).json()
    assert (told["fits"], told["delta"]) == (True, 6.25e-7)


def test_a_refusal_says_what_is_short(world: World, dataset_id: str) -> None:
    world.give(dataset_id, epsilon=1.0, delta=1e-6)
    body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 6.25e-7}
    for asked, short in (
        ({}, ["delta"]),
        ({"epsilon": 1.2, "delta": 1e-7}, ["epsilon"]),
        ({"epsilon": 1.2}, ["epsilon", "delta"]),
    ):
        quote = world.analyst.post("/v1/quotes", body | asked).json()
        assert (quote["refusal"], quote["grant"]["short_of"]) == ("grant-refused", short)
        assert quote["cap"]["short_of"] == []
    refused = require_problem(
        world.order(dataset_id, delta=6.25e-7, options={}), status=409, code="grant-refused"
    )
    assert "delta 0.000000625" in refused["detail"]
    assert "delta 0.0000005 is left" in refused["detail"]


def test_a_grant_without_delta_left_names_it(world: World, dataset_id: str) -> None:
    world.give(dataset_id, epsilon=1.0, delta=1e-6)
    first = world.order(dataset_id, epsilon=0.5, delta=5e-7, options={})
    assert first.status_code == 202, first.text
    with world.database.transaction() as session:
        ledger.spend(session, UUID(first.json()["id"]), fence=1, clock=world.clock)
    quote = world.analyst.post("/v1/quotes", {"dataset_id": dataset_id, "epsilon": 0.5}).json()
    assert (quote["refusal"], quote["guarantee"]["delta"]) == ("grant-refused", 6.25e-7)
    assert quote["grant"]["short_of"] == ["delta"], "half of the epsilon is left"
    assert (quote["grant"]["remaining_delta"], quote["grant"]["remaining_epsilon"]) == (0, 0)
    refused = require_problem(
        world.order(dataset_id, epsilon=0.5, delta=None, options={}), status=409, code="grant-refused"
    )
    assert "delta 0.000000625. Of your grant, delta 0 is left" in refused["detail"]


def default_of(world: World, dataset_id: str, **more: Any) -> float | None:
    """The default delta of an order of epsilon 0.3, changed beyond what a request may say."""
    order = GeneratorOrder(dataset_id=UUID(dataset_id), epsilon=0.3).model_copy(update=more)
    orders = Principal(id=world.analyst.principal_id, key_id=uuid4(), roles=frozenset({Role.ANALYST}))
    with world.database.read_only() as session:
        facts = DatasetFacts.of(session.get_one(Dataset, UUID(dataset_id)))
        return default_delta_of_order(session, order, facts, orders, at=world.clock.now())


def test_the_default_delta_of_what_learns_nothing_is_that_of_all_filters(
    world: World, dataset_id: str
) -> None:
    """A report on the dataset has no threshold, so that Renyi filters of the grant admit it at the usual delta."""
    world.give(dataset_id, epsilon=1.0, delta=1e-6)
    assert default_of(world, dataset_id) == 1.5e-7
    assert default_of(world, dataset_id, report=object()) == 6.25e-7
    assert default_of(world, dataset_id, model=object()) == 6.25e-7


def test_the_default_delta_of_a_members_order_is_that_of_the_cap(world: World, dataset_id: str) -> None:
    """Its plan is the board's, which knows no grants."""
    world.give(dataset_id, epsilon=1.0, delta=1e-6)
    assert default_of(world, dataset_id, federation=object()) == 6.25e-7


def test_what_a_grant_has_left_is_what_its_default_delta_leaves(world: World, dataset_id: str) -> None:
    world.give(dataset_id, epsilon=1.0, delta=1e-6)
    assert world.order(dataset_id, epsilon=0.25, delta=4.9e-7, options={}).status_code == 202
    with world.database.read_only() as session:
        population_id = session.get_one(Dataset, UUID(dataset_id)).population_id
        orders = Principal(id=world.analyst.principal_id, key_id=uuid4(), roles=frozenset({Role.ANALYST}))
        ((_, found),) = look_at_sizes(
            session, population_id, orders, [0.25], thresholds=True, at=world.clock.now()
        )
    assert found.grant is not None
    assert found.grant.to_json()["remaining_epsilon"] == pytest.approx(0.75)
