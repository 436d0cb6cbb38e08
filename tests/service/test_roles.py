"""Every endpoint with every role: the table in service.auth.table is what is served."""

from uuid import uuid4

import pytest

from core.access.roles import Role
from service.auth.table import ROLES_OF
from tests.core.releases.stand_in import DOMAIN
from tests.service.world import CSV, World, require_problem

SOME = str(uuid4())
ORDER = {"dataset_id": SOME, "epsilon": 1.0, "delta": 1e-6}

REQUESTS = {
    "create_key": ("POST", "/v1/keys", {"json": {"name": "a", "roles": ["owner"]}}),
    "list_keys": ("GET", "/v1/keys", {}),
    "revoke_key": ("DELETE", f"/v1/keys/{SOME}", {}),
    "create_dataset": ("POST", "/v1/datasets", {"json": {"name": "a", "domain": DOMAIN, "declared_size": 9}}),
    "list_datasets": ("GET", "/v1/datasets", {}),
    "read_dataset": ("GET", f"/v1/datasets/{SOME}", {}),
    "upload_rows": (
        "POST", f"/v1/datasets/{SOME}/rows", {"content": CSV, "headers": {"Content-Type": "text/csv"}},
    ),
    "read_intake_report": ("GET", f"/v1/datasets/{SOME}/intake-report", {}),
    "set_budget": ("PUT", f"/v1/datasets/{SOME}/budget", {"json": {"epsilon": 1, "delta": 1e-6}}),
    "read_budget": ("GET", f"/v1/datasets/{SOME}/budget", {}),
    "read_ledger": ("GET", f"/v1/datasets/{SOME}/ledger", {}),
    "create_quote": ("POST", "/v1/quotes", {"json": ORDER}),
    "create_job": ("POST", "/v1/jobs", {"json": ORDER, "headers": {"Idempotency-Key": "a"}}),
    "list_jobs": ("GET", "/v1/jobs", {}),
    "read_job": ("GET", f"/v1/jobs/{SOME}", {}),
    "cancel_job": ("POST", f"/v1/jobs/{SOME}/cancel", {}),
    "list_releases": ("GET", "/v1/releases", {}),
    "read_release": ("GET", f"/v1/releases/{SOME}", {}),
    "download_bundle": ("GET", f"/v1/releases/{SOME}/bundle", {}),
    "read_certificate": ("GET", f"/v1/releases/{SOME}/certificate", {}),
    "draw_samples": ("GET", f"/v1/releases/{SOME}/samples", {}),
}  # fmt: skip

OWNER, ANALYST, ADMIN = {Role.OWNER}, {Role.ANALYST}, {Role.ADMIN}
# Written out again on purpose: a slip in the table must not be copied here by code.
EXPECTED = {
    "create_key": ADMIN,
    "list_keys": ADMIN,
    "revoke_key": ADMIN,
    "create_dataset": OWNER,
    "list_datasets": OWNER | ANALYST | ADMIN,
    "read_dataset": OWNER | ANALYST | ADMIN,
    "upload_rows": OWNER,
    "read_intake_report": OWNER,
    "set_budget": ADMIN,
    "read_budget": OWNER | ANALYST | ADMIN,
    "read_ledger": OWNER | ANALYST | ADMIN,
    "create_quote": ANALYST,
    "create_job": ANALYST,
    "list_jobs": OWNER | ANALYST | ADMIN,
    "read_job": OWNER | ANALYST | ADMIN,
    "cancel_job": ANALYST | ADMIN,
    "list_releases": OWNER | ANALYST | ADMIN,
    "read_release": OWNER | ANALYST | ADMIN,
    "download_bundle": OWNER | ANALYST | ADMIN,
    "read_certificate": OWNER | ANALYST | ADMIN,
    "draw_samples": OWNER | ANALYST | ADMIN,
}


def test_the_table_is_the_expected_one() -> None:
    assert ROLES_OF == EXPECTED


def test_the_table_lists_exactly_the_endpoints_that_are_served(world: World) -> None:
    served = {
        operation["operationId"].split("_v1_")[0]
        for path, operations in world.app.openapi()["paths"].items()
        for operation in operations.values()
        if path.startswith("/v1/") and path != "/v1/health"
    }
    assert served == set(ROLES_OF) == set(REQUESTS)


@pytest.mark.parametrize("role", Role)
def test_each_role_may_use_exactly_its_endpoints(world: World, role: Role) -> None:
    caller = world.caller(role)
    for endpoint, (method, path, options) in REQUESTS.items():
        answer = caller.send(method, path, **options)
        if role in EXPECTED[endpoint]:
            assert answer.status_code not in {401, 403, 500}, (endpoint, answer.text)
        else:
            problem = require_problem(answer, status=403, code="role-missing")
            assert problem["facts"]["allowed_roles"] == sorted(EXPECTED[endpoint]), endpoint


def test_a_key_with_two_roles_may_do_what_either_may(world: World) -> None:
    caller = world.caller(Role.OWNER, Role.ADMIN)
    assert caller.get("/v1/keys").status_code == 200
    assert caller.post("/v1/datasets", REQUESTS["create_dataset"][2]["json"]).status_code == 201
    require_problem(caller.post("/v1/quotes", ORDER), status=403)


def test_no_endpoint_answers_without_a_valid_key(world: World) -> None:
    for headers, code in [
        ({}, "key-missing"),
        ({"Authorization": "Basic b3duZXI6"}, "key-missing"),
        ({"Authorization": "Bearer"}, "key-missing"),
        ({"Authorization": "Bearer nonsense"}, "key-refused"),
        ({"Authorization": "Bearer us_01234567_" + "A" * 43}, "key-refused"),
    ]:
        for endpoint, (method, path, options) in REQUESTS.items():
            merged = {**options, "headers": {**options.get("headers", {}), **headers}}
            answer = world.client.request(method, path, **merged)
            require_problem(answer, status=401, code=code)
            assert answer.headers["www-authenticate"].startswith("Bearer"), endpoint


def test_a_revoked_key_is_refused_everywhere(world: World) -> None:
    made = world.admin.post("/v1/keys", {"name": "temporary", "roles": ["owner", "analyst", "admin"]}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert world.client.get("/v1/datasets", headers=headers).status_code == 200
    assert world.admin.delete(f"/v1/keys/{made['id']}").status_code == 200
    for method, path, options in REQUESTS.values():
        merged = {**options, "headers": {**options.get("headers", {}), **headers}}
        require_problem(world.client.request(method, path, **merged), status=401, code="key-refused")


def test_somebody_elses_dataset_does_not_exist_for_an_owner(world: World) -> None:
    job = world.job()
    dataset_id = job["dataset_id"]
    for method, path, code in [
        ("GET", f"/v1/datasets/{dataset_id}", "dataset-not-found"),
        ("GET", f"/v1/datasets/{dataset_id}/intake-report", "dataset-not-found"),
        ("GET", f"/v1/datasets/{dataset_id}/budget", "dataset-not-found"),
        ("GET", f"/v1/datasets/{dataset_id}/ledger", "dataset-not-found"),
        ("GET", f"/v1/jobs/{job['id']}", "job-not-found"),
    ]:
        theirs = require_problem(world.stranger.send(method, path), status=404, code=code)
        nobodys = world.stranger.send(method, path.replace(dataset_id, SOME).replace(job["id"], SOME)).json()
        assert {**theirs, "request_id": ""} == {**nobodys, "request_id": ""}
    body = {"name": "mine now", "domain": DOMAIN, "declared_size": 9, "parent_dataset_id": dataset_id}
    require_problem(world.stranger.post("/v1/datasets", body), status=404, code="dataset-not-found")
    answer = world.stranger.post(
        f"/v1/datasets/{dataset_id}/rows", content=CSV, headers={"Content-Type": "text/csv"}
    )
    require_problem(answer, status=404, code="dataset-not-found")
    for path in ("/v1/datasets", "/v1/jobs", "/v1/releases"):
        assert world.stranger.get(path).json()["items"] == []


def test_releases_of_somebody_elses_dataset_do_not_exist_for_an_owner(world: World) -> None:
    release_id = world.release()
    for part in ("", "/bundle", "/certificate", "/samples"):
        require_problem(
            world.stranger.get(f"/v1/releases/{release_id}{part}"), status=404, code="release-not-found"
        )
        assert world.owner.get(f"/v1/releases/{release_id}{part}").status_code == 200
    assert world.stranger.get("/v1/releases").json()["items"] == []


def test_the_intake_report_is_for_the_owner_alone(world: World) -> None:
    dataset_id = world.ready()
    assert world.owner.get(f"/v1/datasets/{dataset_id}/intake-report").status_code == 200
    everything_else = world.caller(Role.OWNER, Role.ANALYST, Role.ADMIN)
    require_problem(everything_else.get(f"/v1/datasets/{dataset_id}/intake-report"), status=404)
