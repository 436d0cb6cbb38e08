from typing import Any

import pytest

from core.platform.access.roles import Role
from tests.service.world import OPTIONS, World, require_problem


def test_a_budget_is_set_by_the_admin_and_seen_by_all(world: World) -> None:
    dataset_id = world.declare()
    path = f"/v1/datasets/{dataset_id}/budget"
    assert world.owner.get(path).json()["cap"] is None
    answer = world.admin.put(path, {"epsilon": 2.0, "delta": 1e-5})
    assert answer.status_code == 200
    assert answer.json()["cap"] == {"epsilon": 2.0, "delta": 1e-5}
    for who in (world.owner, world.analyst, world.admin):
        assert who.get(path).json() == answer.json()
    names = [each["filter"] for each in answer.json()["filters"]]
    assert names[0] == "basic"
    assert len(names) == 7


def test_a_dataset_under_the_basic_rule_has_that_filter_alone(world: World) -> None:
    dataset_id = world.declare(rule="basic")
    world.set_budget(dataset_id)
    budget = world.owner.get(f"/v1/datasets/{dataset_id}/budget").json()
    assert [each["filter"] for each in budget["filters"]] == ["basic"]


WRONG = [
    {"epsilon": 0, "delta": 1e-6},
    {"epsilon": -1, "delta": 1e-6},
    {"epsilon": 1e9, "delta": 1e-6},
    {"epsilon": 1, "delta": 0},
    {"epsilon": 1, "delta": 1},
    {"epsilon": 1, "delta": 1e-13},
    {"epsilon": "many", "delta": 1e-6},
    {"epsilon": 1},
    {},
]


def test_a_wrong_budget_is_refused(world: World) -> None:
    dataset_id = world.declare()
    for body in WRONG:
        require_problem(world.admin.put(f"/v1/datasets/{dataset_id}/budget", body), status=422)
    assert world.owner.get(f"/v1/datasets/{dataset_id}/budget").json()["cap"] is None


def test_infinite_budgets_are_refused(world: World) -> None:
    dataset_id = world.declare()
    for text in (b'{"epsilon": Infinity, "delta": 1e-6}', b'{"epsilon": NaN, "delta": 1e-6}'):
        answer = world.admin.send(
            "PUT",
            f"/v1/datasets/{dataset_id}/budget",
            content=text,
            headers={"Content-Type": "application/json"},
        )
        require_problem(answer, status=422)


def test_the_cap_cannot_go_below_what_is_reserved(world: World) -> None:
    dataset_id = world.ready()
    assert world.order(dataset_id).status_code == 202
    answer = world.admin.put(f"/v1/datasets/{dataset_id}/budget", {"epsilon": 0.1, "delta": 1e-5})
    require_problem(answer, status=409, code="cap-below-spent")


def test_the_statement_shows_the_reservation_and_its_mechanism(world: World) -> None:
    job = world.job()
    statements = [
        who.get(f"/v1/datasets/{job['dataset_id']}/ledger").json()
        for who in (world.owner, world.analyst, world.admin)
    ]
    assert statements[0] == statements[1] == statements[2]
    *_, entry = statements[0]["entries"]
    assert [each["kind"] for each in statements[0]["entries"]] == ["CAP_SET", "GRANTED", "RESERVED"]
    assert entry["kind"] == "RESERVED"
    assert entry["job_id"] == job["id"]
    assert entry["mechanism"]["version"] == 1
    assert statements[0]["head"]["hash"] == entry["hash"]


def test_a_cap_is_raised_only_with_a_written_reason(world: World) -> None:
    dataset_id = world.declare()
    path = f"/v1/datasets/{dataset_id}/budget"
    assert world.admin.put(path, {"epsilon": 2.0, "delta": 1e-5}).status_code == 200, "the first needs none"
    for raised in ({"epsilon": 2.5, "delta": 1e-5}, {"epsilon": 1.0, "delta": 2e-5}):
        require_problem(world.admin.put(path, raised), status=422, code="reason-required")
        require_problem(world.admin.put(path, raised | {"reason": " "}), status=422, code="invalid-input")
    assert world.admin.put(path, {"epsilon": 2.0, "delta": 1e-5}).status_code == 200, "the same is no raise"
    assert world.admin.put(path, {"epsilon": 1.0, "delta": 1e-6}).status_code == 200, "nor is less"
    answer = world.admin.put(path, {"epsilon": 3.0, "delta": 1e-5, "reason": "the board said so"})
    assert answer.json()["cap"] == {"epsilon": 3.0, "delta": 1e-5}
    entries = world.owner.get(f"/v1/datasets/{dataset_id}/ledger").json()["entries"]
    assert [entry["terms"]["epsilon"] for entry in entries] == [2.0, 1.0, 3.0]
    assert entries[-1]["terms"]["reason"] == "the board said so"
    assert entries[-1]["terms"]["by"] == str(world.admin.principal_id)


def test_a_frozen_dataset_takes_no_orders_until_an_admin_unfreezes_it(world: World) -> None:
    dataset_id = world.ready()
    queued = world.order(dataset_id, epsilon=0.5).json()
    path = f"/v1/datasets/{dataset_id}"
    require_problem(world.owner.post(f"{path}/freeze", {}), status=422)
    require_problem(world.owner.post(f"{path}/freeze", {"reason": ""}), status=422)
    require_problem(world.analyst.post(f"{path}/freeze", {"reason": "a"}), status=403, code="role-missing")
    require_problem(world.stranger.post(f"{path}/freeze", {"reason": "a"}), status=404)
    first = world.owner.post(f"{path}/freeze", {"reason": "a look"}).json()
    world.clock.advance(seconds=60)
    again = world.admin.post(f"{path}/freeze", {"reason": "another look"}).json()
    assert first["frozen_at"] == again["frozen_at"] == "2026-03-01T12:00:00Z"
    require_problem(world.order(dataset_id, epsilon=0.1), status=409, code="dataset-frozen")
    quote = world.analyst.post(
        "/v1/quotes", {"dataset_id": dataset_id, "epsilon": 0.1, "delta": 1e-6, "options": OPTIONS}
    ).json()
    assert (quote["fits"], quote["refusal"]) == (False, "dataset-frozen")
    assert world.analyst.get(f"/v1/jobs/{queued['id']}").json()["state"] == "queued"
    require_problem(world.owner.post(f"{path}/unfreeze", {"reason": "a"}), status=403, code="role-missing")
    thawed = world.admin.post(f"{path}/unfreeze", {"reason": "all is well"}).json()
    assert thawed["frozen_at"] is None
    assert world.admin.post(f"{path}/unfreeze", {"reason": "once more"}).json() == thawed
    assert world.order(dataset_id, epsilon=0.1).status_code == 202
    entries = world.analyst.get(f"{path}/ledger").json()["entries"]
    assert [entry["kind"] for entry in entries if "FROZEN" in entry["kind"]] == ["FROZEN", "UNFROZEN"]


def what_if(world: World, dataset_id: str, caller: Any = None, **body: Any) -> Any:
    return (caller or world.analyst).post(f"/v1/datasets/{dataset_id}/budget/what-if", body)


def test_one_more_job_is_shown_under_the_cap_and_under_the_grant(world: World) -> None:
    dataset_id = world.declare(rule="basic")
    world.admin.put(f"/v1/datasets/{dataset_id}/budget", {"epsilon": 2.0, "delta": 1e-5})
    grant = world.give(dataset_id, epsilon=0.75)
    answer = what_if(world, dataset_id, epsilon=0.5, delta=1e-6)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["fits"], told["refusal"]) == (True, None)
    assert told["cap"] == {
        "epsilon": 2.0,
        "delta": 1e-5,
        "fits": True,
        "carried_by": "basic",
        "remaining_delta": 1e-5,
        "remaining_epsilon": 2.0,
        "remaining_epsilon_after": 1.5,
        "short_of": [],
    }
    assert told["grant"] == {
        "id": grant,
        "epsilon": 0.75,
        "delta": 1e-5,
        "fits": True,
        "carried_by": "basic",
        "remaining_delta": 1e-5,
        "remaining_epsilon": 0.75,
        "remaining_epsilon_after": 0.25,
        "short_of": [],
    }
    above_grant = what_if(world, dataset_id, epsilon=1.0, delta=1e-6).json()
    assert (above_grant["fits"], above_grant["refusal"]) == (False, "grant-refused")
    assert above_grant["cap"]["fits"] is True
    assert above_grant["grant"]["carried_by"] is None
    assert above_grant["grant"]["remaining_epsilon_after"] == 0.75
    above_cap = what_if(world, dataset_id, epsilon=2.5, delta=1e-6).json()
    assert (above_cap["refusal"], above_cap["cap"]["fits"]) == ("budget-refused", False)
    assert world.movements(dataset_id) == []


def test_what_if_without_a_grant_of_ones_own_is_about_the_cap(world: World) -> None:
    dataset_id = world.ready()
    for who in (world.owner, world.admin):
        told = what_if(world, dataset_id, who, epsilon=1.0).json()
        assert (told["fits"], told["grant"], told["delta"]) == (True, None, 1e-5 / 16)
    newcomer = world.caller(Role.ANALYST)
    require_problem(what_if(world, dataset_id, newcomer, epsilon=1.0), status=404)
    world.admit(dataset_id, newcomer)
    told = what_if(world, dataset_id, newcomer, epsilon=1.0).json()
    assert (told["fits"], told["refusal"], told["grant"]) == (False, "no-grant", None)
    assert told["cap"]["fits"] is True
    uncapped = world.declare()
    require_problem(what_if(world, uncapped, epsilon=1.0), status=409, code="budget-not-set")
    told = what_if(world, uncapped, epsilon=1.0, delta=1e-6).json()
    assert (told["fits"], told["refusal"], told["cap"]) == (False, "budget-not-set", None)
    require_problem(
        what_if(world, dataset_id, world.admin, epsilon=1, grant_id=world.give(dataset_id)),
        status=404,
        code="grant-not-found",
    )
    several = what_if(world, dataset_id, epsilon=1.0).json()
    assert (several["fits"], several["refusal"]) == (False, "grant-ambiguous")


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1000, 1e-12), (1000, 0.999), (1e-6, 1e-12), (1e-6, 0.999), (0.3, 1e-5)]
)
def test_what_if_answers_at_the_edges(world: World, epsilon: float, delta: float) -> None:
    dataset_id = world.ready()
    told = what_if(world, dataset_id, epsilon=epsilon, delta=delta)
    assert told.status_code == 200, told.text
    for wrong in (
        {"epsilon": 0},
        {"epsilon": 1001},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "steps": 5},
        {},
    ):
        require_problem(what_if(world, dataset_id, **wrong), status=422)


def test_a_quote_tells_the_cap_and_the_grant_as_the_order_meets_them(world: World) -> None:
    dataset_id = world.ready()
    grant = world.analyst.get(f"/v1/datasets/{dataset_id}/grants").json()["items"][0]["id"]
    body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "options": OPTIONS}
    quote = world.analyst.post("/v1/quotes", body).json()
    assert (quote["fits"], quote["refusal"], quote["grant"]["id"]) == (True, None, grant)
    assert quote["grant"]["remaining_epsilon_after"] == quote["remaining_epsilon_after"]
    small = world.give(dataset_id, epsilon=0.5)
    assert world.analyst.post("/v1/quotes", body).json()["grant"]["id"] == grant, (
        "the only one in which it fits"
    )
    both = world.analyst.post("/v1/quotes", body | {"epsilon": 0.1}).json()
    assert (both["fits"], both["refusal"], both["grant"]) == (False, "grant-ambiguous", None)
    refused = world.analyst.post("/v1/quotes", body | {"grant_id": small}).json()
    assert (refused["fits"], refused["refusal"]) == (False, "grant-refused")
    require_problem(world.order(dataset_id, grant_id=small), status=409, code="grant-refused")
    assert world.order(dataset_id, grant_id=grant).status_code == 202
    after = world.analyst.get(f"/v1/datasets/{dataset_id}/budget").json()["remaining_epsilon"]
    assert after == pytest.approx(quote["remaining_epsilon_after"], abs=1e-4)
