"""How much one principal may have: counted exactly, also when requests race."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import CSV, World, require_problem


@pytest.fixture
def limit(world: World) -> Callable[..., None]:
    """Sets quotas."""

    def set_quotas(**quotas: int) -> None:
        context = world.app.state.context
        world.app.state.context = replace(context, settings=context.settings.model_copy(update=quotas))

    return set_quotas


def race(work: Callable[[], int], times: int = 6) -> list[int]:
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(work())) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(answers)


def test_no_more_datasets_than_allowed(world: World, limit) -> None:
    limit(quota_datasets=2)
    body = {"name": "wards", "domain": DOMAIN, "declared_size": 1000}
    answers = race(lambda: world.owner.post("/v1/datasets", body).status_code)
    assert answers == [201, 201, 409, 409, 409, 409]
    problem = require_problem(world.owner.post("/v1/datasets", body), status=409, code="quota-exceeded")
    assert problem["facts"] == {"quota": "quota_datasets", "limit": 2, "used": 2, "requested": 1}
    assert world.stranger.post("/v1/datasets", body).status_code == 201


def test_no_more_open_uploads_than_allowed(world: World, limit) -> None:
    limit(quota_open_uploads=2)
    path = f"/v1/datasets/{world.declare()}/uploads"
    body = {"bytes": 10, "content_type": "text/csv"}
    assert race(lambda: world.owner.post(path, body).status_code) == [201, 201, 409, 409, 409, 409]
    problem = require_problem(world.owner.post(path, body), status=409, code="quota-exceeded")
    assert problem["facts"]["quota"] == "quota_open_uploads"


def test_open_uploads_count_with_what_they_announced(world: World, limit) -> None:
    limit(quota_stored_bytes=1000)
    path = f"/v1/datasets/{world.declare()}/uploads"
    first = world.owner.post(path, {"bytes": 600, "content_type": "text/csv"})
    assert first.status_code == 201
    problem = require_problem(
        world.owner.post(path, {"bytes": 500, "content_type": "text/csv"}), status=409, code="quota-exceeded"
    )
    assert problem["facts"] == {
        "quota": "quota_stored_bytes", "limit": 1000, "used": 600, "requested": 500,
    }  # fmt: skip
    assert world.owner.delete(f"/v1/uploads/{first.json()['id']}").status_code == 204
    assert world.owner.post(path, {"bytes": 500, "content_type": "text/csv"}).status_code == 201


def test_rows_that_have_no_room_leave_nothing(world: World, limit) -> None:
    dataset_id = world.declare()
    limit(quota_stored_bytes=100)
    require_problem(world.upload(dataset_id, CSV), status=409, code="quota-exceeded")
    assert list(world.store.list("datasets")) == []
    limit(quota_stored_bytes=100_000)
    assert world.upload(dataset_id, CSV).status_code == 201


def test_no_more_waiting_jobs_than_allowed(world: World, limit) -> None:
    dataset_id = world.ready()
    limit(quota_queued_jobs=1)
    assert world.order(dataset_id, epsilon=0.1).status_code == 202
    problem = require_problem(world.order(dataset_id, epsilon=0.1), status=409, code="quota-exceeded")
    assert problem["facts"]["quota"] == "quota_queued_jobs"
