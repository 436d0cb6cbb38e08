"""A value planted in private rows, and the number of rows, must not come out anywhere but in the owner's report."""

import json

from core.platform.access.roles import Role
from tests.service.matrix import nobodys, operations
from tests.service.test_commit import stored
from tests.service.world import World, rows_of

CANARY = "cAnArY7f3a"
AGE = "97"


def everything_told(world: World, *, dataset_id: str, job_id: str) -> str:
    """All that analysts, admins, auditors and other owners can read by any endpoint that only reads."""
    told = []
    ids = nobodys(world.app) | {"dataset_id": dataset_id, "job_id": job_id}
    for caller in (
        world.analyst,
        world.admin,
        world.stranger,
        world.caller(Role.AUDITOR),
        world.caller(Role.OWNER, Role.ANALYST, Role.ADMIN),
    ):
        for operation in operations(world.app):
            if operation.method == "GET":
                method, path, options = operation.request(ids)
                answer = caller.send(method, path, **options)
                told.append(answer.text + str(answer.headers))
    return "\n".join(told)


def test_a_planted_value_never_comes_out(world: World, log_text) -> None:
    dataset_id = world.declare()
    report = world.upload(dataset_id, rows_of(CANARY))
    assert report.status_code == 201, report.text
    assert report.json()["rows_refused"] == 1
    assert CANARY not in report.text, "not even the owner's report holds values"
    broken = world.declare()
    for body in (
        rows_of(CANARY).replace(b"ward,", CANARY.encode() + b","),
        f"ward,age,sick,seen\n{CANARY},{CANARY},{CANARY},{CANARY}\n".encode(),
        f'ward,age,sick,seen\n"{CANARY},1\n'.encode(),
    ):
        answer = world.upload(broken, body)
        assert answer.status_code == 422, answer.text
        assert CANARY not in answer.text
    world.set_budget(dataset_id)
    job = world.order(dataset_id).json()
    assert CANARY not in everything_told(world, dataset_id=dataset_id, job_id=job["id"])
    logged = log_text()
    assert '"event": "request"' in logged, "the log lines are not where this test looks"
    assert CANARY not in logged
    for key in stored(world):
        assert CANARY.encode() not in world.store.get_bytes(key)


def test_counts_of_rows_are_visible_to_the_owner_alone(world: World) -> None:
    """Two tables of different sizes look the same to everybody else."""
    told = []
    for copies in (1, 3):
        dataset_id = world.declare()
        rows = b"ward,age,sick,seen\n" + b"A,30,yes,2020-01-02\n" * 9 * copies
        assert world.upload(dataset_id, rows).json()["rows_accepted"] == 9 * copies
        world.set_budget(dataset_id)
        job = world.order(dataset_id).json()
        views = [
            world.analyst.get(f"/v1/datasets/{dataset_id}").json(),
            world.analyst.get(f"/v1/datasets/{dataset_id}/budget").json(),
            world.analyst.get(f"/v1/jobs/{job['id']}").json(),
        ]
        known = {dataset_id, views[0]["population_id"], job["id"]}
        text = json.dumps(views)
        for each in known:
            text = text.replace(each, "id")
        told.append(text)
    assert told[0] == told[1]


def test_the_log_names_no_path_query_or_key_of_a_caller(world: World, log_text) -> None:
    world.owner.get(f"/v1/{CANARY}?{CANARY}={CANARY}", headers={"User-Agent": CANARY})
    world.client.get("/v1/datasets", headers={"Authorization": f"Bearer us_01234567_{CANARY}{'A' * 33}"})
    world.owner.post("/v1/datasets", {"name": CANARY, "domain": {CANARY: CANARY}, "declared_size": 1})
    logged = log_text()
    assert CANARY not in logged
    assert world.owner.key not in logged
    events = [json.loads(line) for line in logged.splitlines()]
    requests = [event for event in events if event["event"] == "request"]
    assert [event["status"] for event in requests] == [404, 401, 422]
    assert requests[0]["route"] == "none"
