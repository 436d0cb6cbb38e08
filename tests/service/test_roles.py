"""Keys and roles beyond single cells of the matrix (test_matrix): several roles, no key, revoked keys, others' things."""

from uuid import uuid4

from core.platform.access.roles import Role
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.matrix import requests_on_nothing
from tests.service.world import CSV, World, require_problem

SOME = str(uuid4())
ORDER = {"dataset_id": SOME, "epsilon": 1.0, "delta": 1e-6}


def test_a_key_with_two_roles_may_do_what_either_may(world: World) -> None:
    caller = world.caller(Role.OWNER, Role.ADMIN)
    assert caller.get("/v1/keys").status_code == 200
    assert caller.post("/v1/datasets", {"name": "a", "domain": DOMAIN, "declared_size": 9}).status_code == 201
    require_problem(caller.post("/v1/quotes", ORDER), status=403)


def test_no_endpoint_answers_without_a_valid_key(world: World) -> None:
    for headers, code in [
        ({}, "key-missing"),
        ({"Authorization": "Basic b3duZXI6"}, "key-missing"),
        ({"Authorization": "Bearer"}, "key-missing"),
        ({"Authorization": "Bearer nonsense"}, "key-refused"),
        ({"Authorization": "Bearer us_01234567_" + "A" * 43}, "key-refused"),
    ]:
        for endpoint, (method, path, options) in requests_on_nothing(world.app).items():
            merged = {**options, "headers": {**options.get("headers", {}), **headers}}
            answer = world.client.request(method, path, **merged)
            require_problem(answer, status=401, code=code)
            assert answer.headers["www-authenticate"].startswith("Bearer"), endpoint


def test_a_revoked_key_is_refused_everywhere(world: World) -> None:
    mighty = world.caller(Role.OWNER, Role.ANALYST, Role.ADMIN)
    made = mighty.post("/v1/keys", {"name": "temporary", "roles": ["owner", "analyst", "admin"]}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert world.client.get("/v1/datasets", headers=headers).status_code == 200
    assert world.admin.delete(f"/v1/keys/{made['id']}").status_code == 200
    for method, path, options in requests_on_nothing(world.app).values():
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
