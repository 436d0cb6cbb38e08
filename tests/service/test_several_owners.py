"""A model over the datasets of several owners, by the API: quoted and ordered in every ledger, seen by every owner."""

from typing import Any

from core.platform.access.roles import Role
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import Caller, World, require_problem

TERMS = {"epsilon": 1.0, "delta": 1e-6, "model": {"steps": 20}}


def neighbour(world: World, **changes: Any) -> str:
    """A ready dataset of another owner, of which the analyst is a member; without budget or grant."""
    owner = world.stranger
    body = {"name": "elsewhere", "domain": DOMAIN, "declared_size": 300} | changes
    dataset_id = str(owner.post("/v1/datasets", body).json()["id"])
    member = f"/v1/datasets/{dataset_id}/members/{world.analyst.principal_id}"
    assert owner.put(member, None).status_code == 200
    World.upload(_as_owner(world, owner), dataset_id)
    return dataset_id


def _as_owner(world: World, owner: Caller) -> World:
    return World(**{name: getattr(world, name) for name in world.__dataclass_fields__} | {"owner": owner})


def order_of(first: str, *further: str, **changes: Any) -> dict[str, Any]:
    return {
        "dataset_id": first,
        **TERMS,
        "further_datasets": [{"dataset_id": each} for each in further],
    } | changes


def movements(caller: Caller, dataset_id: str) -> list[dict[str, Any]]:
    entries = caller.get(f"/v1/datasets/{dataset_id}/ledger").json()["entries"]
    return [entry for entry in entries if "job_id" in entry]


def test_a_model_over_two_owners_is_reserved_in_both_ledgers(world: World) -> None:
    mine, theirs = world.ready(), neighbour(world)
    order, headers = order_of(mine, theirs), {"Idempotency-Key": "once"}
    quote = world.analyst.post("/v1/quotes", order).json()
    assert (quote["fits"], quote["refusal"]) == (False, "budget-not-set")
    assert [(one["dataset_id"], one["fits"]) for one in quote["ledgers"]] == [(mine, True), (theirs, False)]
    require_problem(world.analyst.post("/v1/jobs", order, headers=headers), status=409, code="budget-not-set")
    assert movements(world.owner, mine) == [], "nothing is reserved in one ledger alone"

    world.admin.put(f"/v1/datasets/{theirs}/budget", {"epsilon": 2.0, "delta": 1e-5, "reason": "agreed"})
    require_problem(world.analyst.post("/v1/jobs", order, headers=headers), status=409, code="no-grant")
    world.give(theirs)
    quote = world.analyst.post("/v1/quotes", order).json()
    assert quote["fits"] is True
    assert quote["declared_size"] == 1300
    answer = world.analyst.post("/v1/jobs", order, headers=headers)
    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert job["plan_digest"] == quote["plan_digest"]
    assert world.analyst.post("/v1/jobs", order, headers=headers).json() == job
    for caller, dataset_id in ((world.owner, mine), (world.stranger, theirs)):
        (entry,) = movements(caller, dataset_id)
        assert (entry["kind"], entry["job_id"], entry["epsilon"]) == ("RESERVED", job["id"], entry["epsilon"])
        assert caller.get(f"/v1/jobs/{job['id']}").json()["id"] == job["id"]
        assert [one["id"] for one in caller.get("/v1/jobs").json()["items"]] == [job["id"]]
        shown = caller.get("/v1/jobs", params={"dataset_id": dataset_id}).json()["items"]
        assert [one["id"] for one in shown] == [job["id"]]
        trail = caller.get(f"/v1/datasets/{dataset_id}/audit").json()["items"]
        assert ("job", job["id"]) in {(event["about"], event["object"]) for event in trail}
    world.clock.advance(seconds=1)  # newest first
    alone = world.order(mine, epsilon=0.1, delta=1e-7).json()
    listed = [world.admin.get("/v1/jobs", params={"joint": only}).json()["items"] for only in (True, False)]
    assert [[one["id"] for one in page] for page in listed] == [[job["id"]], [alone["id"], job["id"]]]
    outsider = world.caller(Role.OWNER)
    require_problem(outsider.get(f"/v1/jobs/{job['id']}"), status=404, code="job-not-found")


def test_a_model_with_rounds_is_quoted_over_two_owners(world: World) -> None:
    order = order_of(world.ready(), neighbour(world), model={"steps": 20, "averaging_rounds": 5})
    quote = world.analyst.post("/v1/quotes", order).json()
    assert (quote["model"]["options"]["averaging_rounds"], quote["steps"], quote["declared_size"]) == (
        5,
        20,
        1300,
    )
    summed = world.analyst.post("/v1/quotes", order | {"model": {"steps": 20}}).json()
    assert quote["charge"] == summed["charge"]
    assert "averaging_rounds" not in summed["model"]["options"]


def test_with_no_further_dataset_it_is_an_ordinary_order_to_the_byte(world: World) -> None:
    mine = world.ready()
    for turn, model in enumerate(({"model": TERMS["model"]}, {})):
        ordinary = {"dataset_id": mine, "epsilon": 0.2, "delta": 1e-7} | model
        listed = ordinary | {"further_datasets": []}
        quotes = [world.analyst.post("/v1/quotes", order).json() for order in (ordinary, listed)]
        assert [len(quote["plan_digest"]) for quote in quotes] == [64, 64]
        assert quotes[0] == quotes[1]
        headers = {"Idempotency-Key": f"either-way-{turn}"}
        answers = [world.analyst.post("/v1/jobs", order, headers=headers) for order in (ordinary, listed)]
        assert [answer.status_code for answer in answers] == [202, 202], answers[1].text
        assert answers[0].json() == answers[1].json(), "the same request, so the same job"
        assert answers[0].json()["plan_digest"] == quotes[0]["plan_digest"]
        assert len(movements(world.owner, mine)) == turn + 1, "reserved once"


def test_a_generator_is_quoted_and_ordered_over_two_owners(world: World) -> None:
    mine, theirs = world.ready(), neighbour(world)
    order = order_of(mine, theirs, model=None)
    quote = world.analyst.post("/v1/quotes", order).json()
    assert (quote["declared_size"], quote["steps"]) == (1300, 0)
    assert [one["fits"] for one in quote["ledgers"]] == [True, False]
    headers = {"Idempotency-Key": "counts"}
    require_problem(world.analyst.post("/v1/jobs", order, headers=headers), status=409, code="budget-not-set")
    world.admin.put(f"/v1/datasets/{theirs}/budget", {"epsilon": 2.0, "delta": 1e-5, "reason": "agreed"})
    world.give(theirs)
    job = world.analyst.post("/v1/jobs", order, headers=headers).json()
    assert (job["plan_digest"], set(job["dataset_ids"])) == (quote["plan_digest"], {mine, theirs})
    (first,), (second,) = movements(world.owner, mine), movements(world.stranger, theirs)
    same = ("kind", "job_id", "epsilon", "delta", "mechanism")
    assert [first[name] for name in same] == [second[name] for name in same]
    assert (first["kind"], first["job_id"]) == ("RESERVED", job["id"])


def test_datasets_that_do_not_go_together_are_refused(world: World) -> None:
    mine = world.ready()
    other = neighbour(world, domain=DOMAIN | {"target": "ward"})
    alike = neighbour(world)
    version = world.declare(declared_size=50, parent_dataset_id=mine)
    hidden = str(
        world.stranger.post("/v1/datasets", {"name": "x", "domain": DOMAIN, "declared_size": 9}).json()["id"]
    )
    for order, status, code in (
        (order_of(mine, other), 422, "invalid-spec"),
        (order_of(mine, version), 422, "invalid-spec"),
        (order_of(mine, mine), 422, "invalid-spec"),
        (order_of(mine, hidden), 404, "dataset-not-found"),
        (order_of(mine, other, model=None, report={"release_id": other}), 422, "invalid-input"),
        (order_of(mine, alike, model=None, options={"critic": True}), 422, "invalid-spec"),
        (order_of(mine, model={"averaging_rounds": 2, "steps": 4}), 422, "invalid-spec"),
    ):
        require_problem(world.analyst.post("/v1/quotes", order), status=status, code=code)
    assert movements(world.owner, mine) == []
