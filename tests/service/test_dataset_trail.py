"""The audit trail of a dataset: all that was done with it and what hangs on it, and nothing of other people's."""

from typing import Any

from core.platform.access.roles import Role
from tests.service.world import World, require_problem


def _trail(world: World, dataset_id: str, caller: Any = None, **query: Any) -> list[dict[str, Any]]:
    answer = (caller or world.owner).get(f"/v1/datasets/{dataset_id}/audit", params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def _unnumbered(event: dict[str, Any]) -> dict[str, Any]:
    return {name: told for name, told in event.items() if name != "number"}


def test_an_owner_reads_what_was_done_with_the_own_dataset(world: World) -> None:
    release_id = world.release()
    release = world.owner.get(f"/v1/releases/{release_id}").json()
    dataset_id, job_id = release["dataset_id"], release["job_id"]
    asked = world.analyst.post(
        f"/v1/datasets/{dataset_id}/budget-requests", {"epsilon": 0.5, "delta": 1e-6, "purpose": "a test"}
    ).json()
    assert world.owner.post(f"/v1/budget-requests/{asked['id']}/deny", {"note": "no"}).status_code == 200
    report_id = world.owner.post(f"/v1/releases/{release_id}/sealed-reports", {}).json()["id"]
    assert world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a look"}).status_code == 200
    require_problem(world.stranger.delete(f"/v1/datasets/{dataset_id}"), status=404)
    require_problem(world.analyst.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "no"}), status=403)
    told = [(event["action"], event["about"], event["object"]) for event in _trail(world, dataset_id)]
    population_id = world.owner.get(f"/v1/datasets/{dataset_id}").json()["population_id"]
    assert told == [
        ("freeze_dataset", "dataset", dataset_id),
        ("delete_dataset", "dataset", dataset_id),
        ("budget.freeze", "dataset", population_id),
        ("sealed-report.order", "sealed-report", report_id),
        ("budget-request.deny", "request", asked["id"]),
        ("budget-request.file", "request", asked["id"]),
        ("job.order", "job", job_id),
        ("budget.set", "dataset", population_id),
        ("dataset.rows", "dataset", dataset_id),
        ("member.add", "member", str(world.analyst.principal_id)),
        ("dataset.declare", "dataset", dataset_id),
    ]
    newest = _trail(world, dataset_id)
    assert newest[0]["actor"] == str(world.analyst.principal_id), "no key is named"
    assert (newest[0]["outcome"], newest[1]["outcome"]) == ("role-missing", "dataset-not-found")
    assert newest[2]["outcome"] == "done"
    assert [event["number"] for event in newest] == list(range(len(newest), 0, -1))
    assert set(newest[0]) == {"number", "at", "actor", "action", "about", "object", "outcome"}
    # To everybody else there are no owner reports.
    public = [_unnumbered(event) for event in newest if event["about"] != "sealed-report"]
    for caller in (world.admin, world.caller(Role.AUDITOR)):
        assert [_unnumbered(event) for event in _trail(world, dataset_id, caller)] == public


def test_a_trail_has_attempts_refused_for_want_of_rights_or_budget_and_no_mistakes(world: World) -> None:
    """As the page of the trail says."""
    dataset_id = world.ready()
    before = len(_trail(world, dataset_id))
    assert world.order(dataset_id, epsilon=90.0).status_code == 409
    require_problem(world.analyst.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "no"}), status=403)
    world.give(dataset_id)
    require_problem(world.order(dataset_id), status=409, code="grant-ambiguous")
    asked = {"epsilon": 0.5, "delta": 1e-6, "purpose": "a test"}
    path = f"/v1/datasets/{dataset_id}/budget-requests"
    assert world.analyst.post(path, asked).status_code == 201
    require_problem(world.analyst.post(path, asked), status=409, code="budget-request-open")
    newest = _trail(world, dataset_id)
    told = [event["outcome"] for event in newest[: len(newest) - before]]
    assert told == ["done", "role-missing", "budget-refused"]


def test_a_trail_holds_nothing_of_other_datasets(world: World) -> None:
    mine = world.ready()
    theirs = world.ready(name="other wards")
    assert world.order(theirs, epsilon=0.1).status_code == 202
    own, other = _trail(world, mine), _trail(world, theirs)
    assert {event["object"] for event in own} & {event["object"] for event in other} == {
        str(world.analyst.principal_id)
    }, "the member of both, and nothing else"
    assert [event["action"] for event in own] == [
        event["action"] for event in other if event["about"] != "job"
    ]
    # Nor does it tell how much was done elsewhere.
    assert own[0]["number"] == len(own)
    assert own == _trail(world, mine)
    for caller in (world.stranger, world.caller(Role.OWNER)):
        answer = caller.get(f"/v1/datasets/{mine}/audit")
        require_problem(answer, status=404, code="dataset-not-found")
    require_problem(world.analyst.get(f"/v1/datasets/{mine}/audit"), status=403, code="role-missing")


def test_a_trail_is_read_page_by_page(world: World) -> None:
    dataset_id = world.ready()
    whole = _trail(world, dataset_id)
    assert len(whole) > 3
    read, query = [], {"limit": "2"}
    while True:
        page = world.owner.get(f"/v1/datasets/{dataset_id}/audit", params=query).json()
        read += page["items"]
        if page["next_before"] is None:
            break
        query["before"] = str(page["next_before"])
    assert read == whole
    require_problem(world.owner.get(f"/v1/datasets/{dataset_id}/audit", params={"before": 0}), status=422)
