"""Grants over all datasets: who sees which, with what was drawn on each, found by dataset, holder and state."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from core.platform.access.roles import Role
from tests.service.world import Caller, World, require_problem


def _listed(caller: Caller, **query: Any) -> list[str]:
    """Ids of what is listed, in order, over all pages."""
    found, before = [], None
    while True:
        page = caller.get("/v1/grants", params={**query, **({"before": before} if before else {})}).json()
        found += [grant["id"] for grant in page["items"]]
        before = page["next_before"]
        if before is None:
            return found


def _capped(world: World, **changes: Any) -> str:
    """A declared dataset with a cap and no grant. Returns its id."""
    dataset_id = world.declare(**changes)
    answer = world.admin.put(f"/v1/datasets/{dataset_id}/budget", {"epsilon": 2.0, "delta": 1e-5})
    assert answer.status_code == 200, answer.text
    return dataset_id


def test_everybody_sees_the_grants_that_are_theirs_to_see(world: World) -> None:
    one, two = _capped(world), _capped(world, name="other wards")
    colleague = world.caller(Role.ANALYST)
    world.admit(one, colleague)
    made = []
    for dataset_id, holder in ((one, world.analyst), (one, colleague), (two, world.analyst)):
        made.append(world.give(dataset_id, holder))
        world.clock.advance(seconds=1)
    newest_first = made[::-1]
    for caller in (world.owner, world.admin, world.caller(Role.AUDITOR)):
        assert _listed(caller) == newest_first
        assert _listed(caller, limit=1) == newest_first
    assert _listed(world.analyst) == [made[2], made[0]]
    assert _listed(colleague) == [made[1]]
    assert _listed(world.stranger) == []
    assert _listed(world.admin, dataset_id=one) == [made[1], made[0]]
    assert _listed(world.admin, dataset_id=str(uuid4())) == []
    assert _listed(world.admin, holder_id=str(world.analyst.principal_id)) == [made[2], made[0]]
    assert _listed(world.stranger, dataset_id=one) == []
    assert _listed(colleague, holder_id=str(world.analyst.principal_id)) == []
    # Who is shown the dataset no longer sees no grant on it either.
    assert world.owner.delete(f"/v1/datasets/{one}/members/{colleague.principal_id}").status_code == 200
    assert _listed(colleague) == []
    require_problem(colleague.get(f"/v1/grants/{made[1]}"), status=404, code="grant-not-found")
    require_problem(world.analyst.get(f"/v1/grants/{made[1]}"), status=404, code="grant-not-found")
    require_problem(world.stranger.get(f"/v1/grants/{made[0]}"), status=404, code="grant-not-found")
    require_problem(world.admin.get("/v1/grants", params={"state": "closed"}), status=422)


def test_a_grant_shows_what_was_drawn_and_what_is_left(world: World) -> None:
    dataset_id = world.ready()
    (grant_id,) = _listed(world.analyst, state="open")
    fresh = world.admin.get(f"/v1/grants/{grant_id}").json()
    assert fresh["dataset_ids"] == [dataset_id]
    assert (fresh["spent"]["epsilon"], fresh["reserved"]["epsilon"]) == ("0", "0")
    assert world.order(dataset_id, epsilon=0.5).status_code == 202
    drawn = world.admin.get(f"/v1/grants/{grant_id}").json()
    assert 0.4 < float(drawn["reserved"]["epsilon"]) <= 0.5
    assert drawn["spent"]["epsilon"] == "0"
    assert drawn["remaining_epsilon"] < fresh["remaining_epsilon"] <= fresh["epsilon"]
    thought = world.analyst.post(f"/v1/datasets/{dataset_id}/budget/what-if", {"epsilon": 0.1}).json()
    assert drawn["remaining_epsilon"] == thought["grant"]["remaining_epsilon"]
    (listed,) = world.admin.get("/v1/grants", params={"state": "open"}).json()["items"]
    assert listed == drawn
    revoked = world.admin.delete(f"/v1/grants/{grant_id}")
    assert revoked.status_code == 200
    after = world.admin.get(f"/v1/grants/{grant_id}").json()
    assert (after["state"], after["remaining_epsilon"]) == ("revoked", None)
    assert after["reserved"] == drawn["reserved"]
    assert grant_id in _listed(world.analyst, state="revoked")


def test_a_grant_whose_time_is_over_is_expired_before_upkeep_says_so(world: World) -> None:
    dataset_id = _capped(world)
    grant_id = world.give(dataset_id, expires_at=world.clock.now() + timedelta(days=1))
    assert _listed(world.admin, state="open") == [grant_id]
    assert _listed(world.admin, state="expired") == []
    world.clock.advance(seconds=86_400)
    assert _listed(world.admin, state="open") == []
    assert _listed(world.admin, state="expired") == [grant_id]
    shown = world.admin.get(f"/v1/grants/{grant_id}").json()
    assert (shown["state"], shown["remaining_epsilon"], shown["closed_at"]) == ("expired", None, None)
