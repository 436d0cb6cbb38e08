"""The overview: one read of everything that a key may see, each part under the rights of its own list."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from core.db.tables import Job
from core.ledger import ledger
from core.platform.access.roles import Role
from core.platform.access.scopes import Scope
from tests.service.test_requests import approve
from tests.service.world import Caller, World, require_problem


def _overview(caller: Caller, **params: object) -> dict[str, object]:
    answer = caller.get("/v1/overview", params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.fixture
def dataset_id(world: World) -> str:
    made = world.ready(name="admissions")
    world.set_budget(made, epsilon=3.0, delta=1e-5)
    return made


def test_budgets_are_those_of_the_datasets_with_their_course(world: World, dataset_id: str) -> None:
    job_id = world.order(dataset_id, epsilon=0.5, delta=1e-6).json()["id"]
    with world.database.transaction() as session:
        ledger.spend(session, UUID(job_id), fence=1, clock=world.clock)
    assert world.order(dataset_id, epsilon=0.25, delta=1e-6).status_code == 202
    (shown,) = _overview(world.admin)["datasets"]
    assert shown["name"] == "admissions"
    assert shown["budget"] == world.admin.get(f"/v1/datasets/{dataset_id}/budget").json()
    last = shown["course"][-1]
    assert (last["spent"], last["reserved"]) == (
        shown["budget"]["spent"]["epsilon"], shown["budget"]["reserved"]["epsilon"],
    )  # fmt: skip
    assert [point["spent"] for point in shown["course"]] == sorted(
        (point["spent"] for point in shown["course"]), key=float
    )


def test_a_long_ledger_is_thinned(world: World, dataset_id: str) -> None:
    for _ in range(60):
        assert world.order(dataset_id, epsilon=0.01, delta=1e-7).status_code == 202
    entries = world.admin.get(f"/v1/datasets/{dataset_id}/ledger").json()["entries"]
    (shown,) = _overview(world.admin)["datasets"]
    assert len(entries) > 48 >= len(shown["course"]) > 24
    reserved = [float(point["reserved"]) for point in shown["course"]]
    assert reserved == sorted(reserved)
    assert reserved[-1] == float(shown["budget"]["reserved"]["epsilon"])


def test_a_request_says_what_it_would_leave(world: World, dataset_id: str) -> None:
    wanted = {"epsilon": 1.0, "delta": 1e-6, "purpose": "a study"}
    path = f"/v1/datasets/{dataset_id}/budget-requests"
    filed = world.analyst.post(path, wanted).json()
    outlook = world.admin.post(
        f"/v1/datasets/{dataset_id}/budget/what-if", {"epsilon": 1.0, "delta": 5e-7}
    ).json()
    (waiting,) = _overview(world.admin)["requests"]
    assert waiting["id"] == filed["id"]
    assert waiting["dataset_name"] == "admissions"
    assert waiting["fits"] is True
    assert waiting["remaining_epsilon"] == outlook["cap"]["remaining_epsilon"]
    assert waiting["remaining_epsilon_after"] == outlook["cap"]["remaining_epsilon_after"]
    assert _overview(world.stranger)["requests"] == []


def test_a_request_that_does_not_fit_leaves_nothing(world: World, dataset_id: str) -> None:
    wanted = {"epsilon": 5.0, "delta": 1e-6, "purpose": "too much"}
    assert world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", wanted).status_code == 201
    (waiting,) = _overview(world.owner)["requests"]
    assert (waiting["fits"], waiting["remaining_epsilon_after"]) == (False, None)
    assert waiting["remaining_epsilon"] > 0


def test_a_request_fits_exactly_where_one_job_with_half_of_its_delta_is_admitted(world: World) -> None:
    """A job may use half of a grant's delta, so a request for twice the delta that is left is a request for a job that fits."""
    dataset_id = world.ready()
    world.set_budget(dataset_id, epsilon=1.1, delta=2.4e-6)
    assert world.order(dataset_id, epsilon=1.0, delta=1e-6).status_code == 202
    for delta, admitted in ((3e-7, True), (6e-7, False)):
        wanted = {"epsilon": 0.1, "delta": delta, "purpose": "a second study"}
        filed = world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", wanted).json()
        (waiting,) = _overview(world.admin)["requests"]
        assert (waiting["fits"], waiting["remaining_epsilon_after"] is not None) == (admitted, admitted)
        approved = approve(world.owner, filed["id"]).json()
        ordered = world.order(dataset_id, epsilon=0.1, delta=delta / 2, grant_id=approved["grant"]["id"])
        assert ordered.status_code == (202 if admitted else 409), ordered.text
        if admitted:
            assert world.analyst.post(f"/v1/jobs/{ordered.json()['id']}/cancel").status_code == 200


def test_a_delta_of_which_no_job_can_have_half_is_not_promised(world: World, dataset_id: str) -> None:
    wanted = {"epsilon": 0.1, "delta": 1.5e-12, "purpose": "a study"}
    assert world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", wanted).status_code == 201
    (waiting,) = _overview(world.admin)["requests"]
    assert waiting["fits"] is False


def test_an_analyst_learns_what_may_still_be_ordered(world: World, dataset_id: str) -> None:
    (grant,) = [one for one in _overview(world.analyst)["own_grants"] if dataset_id in one["dataset_ids"]]
    assert grant["holder_id"] == str(world.analyst.principal_id)
    budget = world.analyst.get(f"/v1/datasets/{dataset_id}/budget").json()
    assert grant["orderable_epsilon"] == min(grant["remaining_epsilon"], budget["remaining_epsilon"]) > 0
    assert _overview(world.analyst)["expiring_grants"] == []
    frozen = world.admin.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a check"})
    assert frozen.status_code == 200
    assert {one["orderable_epsilon"] for one in _overview(world.analyst)["own_grants"]} == {0.0}


def test_nothing_can_be_ordered_before_the_rows_are_there(world: World) -> None:
    """Reproduced: the overview offered an order of the whole grant, and the order was refused."""
    parent = world.declare(name="without rows")
    world.set_budget(parent)

    def usable() -> dict[str, Any]:
        (found,) = [one for one in _overview(world.analyst)["own_grants"] if parent in one["dataset_ids"]]
        return dict(found)

    require_problem(world.order(parent), status=409, code="dataset-not-ready")
    assert (usable()["orderable_epsilon"], usable()["orderable_dataset_id"]) == (0.0, None)
    assert usable()["remaining_epsilon"] == 2.0
    assert world.upload(parent).status_code == 201
    world.clock.advance(seconds=60)
    child = world.declare(name="a later version without rows", parent_dataset_id=parent)
    assert usable()["dataset_ids"] == [parent, child]
    assert (usable()["orderable_epsilon"], usable()["orderable_dataset_id"]) == (2.0, parent)
    assert world.order(parent, epsilon=2.0, delta=6.25e-7).status_code == 202


def test_grants_expire_soon_for_those_who_oversee_them(world: World, dataset_id: str) -> None:
    colleague = world.caller(Role.ANALYST)
    world.admit(dataset_id, colleague)
    now = world.clock.now()
    soon = world.give(dataset_id, colleague, epsilon=0.4, expires_at=now + timedelta(days=13))
    world.give(dataset_id, world.caller(Role.ANALYST), epsilon=0.4, expires_at=now + timedelta(days=15))
    for who in (world.owner, world.admin, world.caller(Role.AUDITOR)):
        assert [one["id"] for one in _overview(who)["expiring_grants"]] == [str(soon)]
    assert _overview(world.stranger)["expiring_grants"] == []


def test_jobs_that_live_and_that_failed_lately(world: World, dataset_id: str) -> None:
    queued = world.order(dataset_id, epsilon=0.1, delta=1e-7).json()["id"]
    failed = world.order(dataset_id, epsilon=0.1, delta=1e-7).json()["id"]
    old = world.order(dataset_id, epsilon=0.1, delta=1e-7).json()["id"]
    with world.database.transaction() as session:
        for job_id, days in ((failed, 1), (old, 15)):
            job = session.get_one(Job, UUID(job_id))
            job.state, job.failure_code, job.sealed_randomness_key = "failed", "training-failed", None
            job.finished_at = world.clock.now() - timedelta(days=days)
    shown = _overview(world.owner)
    assert [job["id"] for job in shown["live_jobs"]] == [queued]
    assert [job["id"] for job in shown["failed_jobs"]] == [failed]
    assert shown["live_jobs"][0] == world.owner.get(f"/v1/jobs/{queued}").json()
    assert _overview(world.stranger)["live_jobs"] == []


def test_refusals_are_those_of_the_audit_log(world: World, dataset_id: str) -> None:
    assert world.analyst.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "no"}).status_code == 403
    refused = _overview(world.admin)["refusals"][0]
    assert refused["actor"] == str(world.analyst.principal_id)
    assert (refused["action"], refused["object"]) == ("freeze_dataset", dataset_id)
    assert refused["outcome"] != "done"
    world.clock.advance(seconds=15 * 86400)
    assert _overview(world.caller(Role.AUDITOR))["refusals"] == []
    for who in (world.owner, world.analyst):
        assert _overview(who)["refusals"] is None


def test_each_part_needs_the_scope_of_its_own_list(world: World, dataset_id: str) -> None:
    budgets = world.caller(Role.ADMIN, scopes={Scope.BUDGET_READ})
    seen = _overview(budgets)
    assert (seen["datasets"], seen["live_jobs"], seen["failed_jobs"], seen["refusals"]) == (None,) * 4
    assert seen["requests"] == []
    datasets = _overview(world.caller(Role.ADMIN, scopes={Scope.DATASETS_READ}))
    assert [(one["id"], one["budget"], one["course"]) for one in datasets["datasets"]] == [
        (dataset_id, None, [])
    ]
    assert (datasets["requests"], datasets["own_grants"]) == (None, None)


def test_datasets_are_read_page_by_page(world: World) -> None:
    made = []
    for name in ("one", "two", "three"):
        made.append(world.declare(name=name))
        world.clock.advance(seconds=60)
    first = _overview(world.owner, limit=2)
    assert [one["id"] for one in first["datasets"]] == made[:0:-1]
    last = _overview(world.owner, limit=2, before=first["next_before"])
    assert [one["id"] for one in last["datasets"]] == made[:1]
    assert last["next_before"] is None
    assert _overview(world.owner, before=str(uuid4()))["datasets"] == []
