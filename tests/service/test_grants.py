"""Which grant an order draws on, what it meets, and what a revocation changes."""

import threading
from datetime import timedelta
from typing import Any
from uuid import uuid4

from core.platform.access.roles import Role
from tests.service.test_requests import approve, declared, filed
from tests.service.world import NOON, OPTIONS, World, require_problem


def test_the_only_open_grant_is_taken_and_of_several_one_is_named(world: World) -> None:
    dataset_id = declared(world)
    old = world.give(dataset_id, expires_at=NOON + timedelta(days=1))
    world.clock.advance(seconds=86400)
    revoked = world.give(dataset_id)
    assert world.admin.delete(f"/v1/grants/{revoked}").json()["state"] == "revoked"
    require_problem(world.order(dataset_id), status=409, code="no-grant")
    one = world.give(dataset_id)
    assert world.order(dataset_id, epsilon=0.1).status_code == 202
    two = world.give(dataset_id, epsilon=0.3)
    problem = require_problem(world.order(dataset_id, epsilon=0.1), status=409, code="grant-ambiguous")
    assert set(problem["facts"]["grant_ids"]) == {one, two}
    assert world.order(dataset_id, epsilon=0.2, grant_id=two).status_code == 202
    require_problem(world.order(dataset_id, epsilon=0.2, grant_id=two), status=409, code="grant-refused")
    for closed in (old, revoked):
        require_problem(
            world.order(dataset_id, epsilon=0.1, grant_id=closed), status=409, code="grant-closed"
        )
    assert [entry["grant_id"] for entry in world.movements(dataset_id)] == [one, two]


def test_a_used_up_grant_does_not_stand_in_the_way_of_a_new_one(world: World) -> None:
    dataset_id = declared(world)
    used = world.give(dataset_id, epsilon=0.3)
    assert world.order(dataset_id, epsilon=0.3).status_code == 202
    new = world.give(dataset_id, epsilon=0.4)
    body = {"dataset_id": dataset_id, "epsilon": 0.4, "delta": 1e-6, "options": OPTIONS}
    quote = world.analyst.post("/v1/quotes", body).json()
    assert (quote["fits"], quote["grant"]["id"]) == (True, new)
    assert world.order(dataset_id, epsilon=0.4).status_code == 202
    assert [entry["grant_id"] for entry in world.movements(dataset_id)] == [used, new]
    world.clock.advance(seconds=60)
    newest = world.give(dataset_id, epsilon=0.2)
    refused = require_problem(world.order(dataset_id, epsilon=0.3), status=409, code="grant-refused")
    assert "0.2" in refused["detail"], "the newest grant, in which it does not fit, says what is left"
    assert world.order(dataset_id, epsilon=0.1).status_code == 202
    assert world.movements(dataset_id)[-1]["grant_id"] == newest


def test_nobody_draws_on_a_grant_of_another_person_or_population(world: World) -> None:
    dataset_id, elsewhere = declared(world), declared(world)
    colleague = world.caller(Role.ANALYST)
    world.admit(dataset_id, colleague)
    theirs, of_another = world.give(dataset_id, colleague), world.give(elsewhere)
    for foreign in (theirs, of_another, str(uuid4())):
        answer = world.order(dataset_id, epsilon=0.1, grant_id=foreign)
        require_problem(answer, status=404, code="grant-not-found")
        quote = world.analyst.post(
            "/v1/quotes",
            {
                "dataset_id": dataset_id,
                "epsilon": 0.1,
                "delta": 1e-6,
                "options": OPTIONS,
                "grant_id": foreign,
            },
        )
        require_problem(quote, status=404, code="grant-not-found")
    assert world.movements(dataset_id) == []


def test_an_order_under_a_named_grant_is_another_order_than_one_without(world: World) -> None:
    dataset_id = declared(world)
    grant = world.give(dataset_id)
    first = world.order(dataset_id, epsilon=0.1, key="one")
    assert world.order(dataset_id, epsilon=0.1, key="one").json() == first.json()
    answer = world.order(dataset_id, epsilon=0.1, key="one", grant_id=grant)
    require_problem(answer, status=409, code="idempotency-key-reused")


def test_a_grant_is_seen_by_its_holder_and_by_who_oversees_the_dataset(world: World) -> None:
    dataset_id = declared(world)
    member, outsider = world.caller(Role.ANALYST), world.caller(Role.ANALYST)
    world.admit(dataset_id, member)
    mine, theirs = world.give(dataset_id), world.give(dataset_id, member)
    path = f"/v1/datasets/{dataset_id}/grants"
    for who, expected in [
        (world.analyst, [mine]),
        (member, [theirs]),
        (world.owner, [mine, theirs]),
        (world.admin, [mine, theirs]),
        (world.caller(Role.AUDITOR), [mine, theirs]),
    ]:
        assert sorted(item["id"] for item in who.get(path).json()["items"]) == sorted(expected)
    for who in (outsider, world.stranger):
        require_problem(who.get(path), status=404, code="dataset-not-found")
    require_problem(world.stranger.delete(f"/v1/grants/{mine}"), status=404, code="grant-not-found")
    require_problem(world.analyst.delete(f"/v1/grants/{mine}"), status=403, code="role-missing")
    require_problem(world.admin.delete(f"/v1/grants/{uuid4()}"), status=404, code="grant-not-found")
    assert world.owner.delete(f"/v1/grants/{mine}").json()["state"] == "revoked"
    assert world.owner.delete(f"/v1/grants/{mine}").json()["state"] == "revoked"


def test_a_revoked_grant_leaves_its_jobs_and_their_charges(world: World) -> None:
    dataset_id = declared(world)
    grant = world.give(dataset_id)
    job = world.order(dataset_id, epsilon=0.5).json()
    before = world.owner.get(f"/v1/datasets/{dataset_id}/budget").json()
    world.admin.delete(f"/v1/grants/{grant}")
    after = world.owner.get(f"/v1/datasets/{dataset_id}/budget").json()
    assert (after["reserved"], after["filters"]) == (before["reserved"], before["filters"])
    assert world.analyst.get(f"/v1/jobs/{job['id']}").json()["state"] == "queued"
    assert world.analyst.post(f"/v1/jobs/{job['id']}/cancel").json()["state"] == "cancelled"


def test_versions_share_the_population_its_spend_and_its_grants(world: World) -> None:
    """A re-upload is no way to fresh budget: cap, spend, freeze and grants are the population's."""
    parent = declared(world)
    world.give(parent)
    assert world.order(parent, epsilon=0.5).status_code == 202
    child = world.declare(parent_dataset_id=parent, rule="basic")
    assert world.upload(child).status_code == 201
    budgets = [world.owner.get(f"/v1/datasets/{each}/budget").json() for each in (parent, child)]
    assert budgets[0] == budgets[1]
    assert budgets[1]["rule"] == "filters"
    assert world.order(child, epsilon=0.5).status_code == 202
    grandchild = world.declare(parent_dataset_id=child)
    assert world.upload(grandchild).status_code == 201
    require_problem(world.order(grandchild, epsilon=1.9), status=409, code="budget-refused")
    assert len(world.movements(grandchild)) == 2
    world.owner.post(f"/v1/datasets/{child}/freeze", {"reason": "a look"})
    for each in (parent, child, grandchild):
        require_problem(world.order(each, epsilon=0.1), status=409, code="dataset-frozen")


def test_a_population_of_another_owner_cannot_be_joined(world: World) -> None:
    dataset_id = declared(world)
    domain = world.owner.get(f"/v1/datasets/{dataset_id}").json()["domain"]
    body = {"name": "mine now", "domain": domain, "declared_size": 9, "parent_dataset_id": dataset_id}
    nowhere = world.stranger.post("/v1/datasets", body | {"parent_dataset_id": str(uuid4())})
    # Not by another owner, and not by one to whom the dataset is shown as an analyst or an admin either.
    for roles in ([Role.OWNER], [Role.OWNER, Role.ANALYST], [Role.OWNER, Role.ADMIN]):
        thief = world.caller(*roles)
        world.admit(dataset_id, thief)
        problem = require_problem(thief.post("/v1/datasets", body), status=404, code="dataset-not-found")
        assert {**problem, "request_id": ""} == {**nowhere.json(), "request_id": ""}


def test_the_rule_of_a_dataset_is_chosen_once_and_shown(world: World) -> None:
    for rule in ("filters", "basic"):
        dataset_id = world.declare(rule=rule)
        world.set_budget(dataset_id)
        for who in (world.owner, world.analyst, world.admin):
            assert who.get(f"/v1/datasets/{dataset_id}").json()["rule"] == rule
            assert who.get(f"/v1/datasets/{dataset_id}/budget").json()["rule"] == rule
        child = world.declare(parent_dataset_id=dataset_id, rule="basic" if rule == "filters" else "filters")
        assert world.owner.get(f"/v1/datasets/{child}").json()["rule"] == rule
    listed = world.owner.get("/v1/datasets").json()["items"]
    assert sorted(item["rule"] for item in listed) == ["basic", "basic", "filters", "filters"]


def test_the_cap_binds_everybody_together_when_grants_sum_to_more(world: World) -> None:
    dataset_id = world.declare(rule="basic")
    assert world.upload(dataset_id).status_code == 201
    assert (
        world.admin.put(f"/v1/datasets/{dataset_id}/budget", {"epsilon": 2.0, "delta": 1e-5}).status_code
        == 200
    )
    analysts = [world.caller(Role.ANALYST) for _ in range(3)]
    world.admit(dataset_id, *analysts)
    for analyst in analysts:
        request_id = filed(world, dataset_id, analyst, epsilon=1.5, delta=1e-5)
        assert approve(world.admin, request_id).status_code == 200
    answers: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda who: answers.append(world.order(dataset_id, caller=who, epsilon=0.7)), args=(who,)
        )
        for who in analysts * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Each could have two of 0.7 under its own grant; together there is room for two.
    codes = sorted(answer.json().get("code", "accepted") for answer in answers)
    assert codes == ["accepted"] * 2 + ["budget-refused"] * 4
    spent = world.owner.get(f"/v1/datasets/{dataset_id}/budget").json()
    assert float(spent["reserved"]["epsilon"]) <= 2.0


def test_a_member_who_was_removed_draws_on_nothing(world: World) -> None:
    dataset_id = declared(world)
    world.give(dataset_id)
    job = world.order(dataset_id, epsilon=0.1).json()
    world.owner.delete(f"/v1/datasets/{dataset_id}/members/{world.analyst.principal_id}")
    require_problem(world.order(dataset_id, epsilon=0.1), status=404, code="dataset-not-found")
    for path in (f"/v1/jobs/{job['id']}", f"/v1/datasets/{dataset_id}/grants"):
        require_problem(world.analyst.get(path), status=404)
    world.admit(dataset_id, world.analyst)
    assert world.order(dataset_id, epsilon=0.1).status_code == 202
