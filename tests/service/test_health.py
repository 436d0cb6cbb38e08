import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from obstore.exceptions import GenericError
from sqlalchemy import text

from core.data.objects import open_store
from service import health
from service.caches import TtlCache
from tests.service.world import World, require_problem

ALL_OK = {"database": "ok", "migrations": "ok", "broker": "ok", "storage": "ok"}


def test_a_service_with_everything_is_ready(world: World) -> None:
    answer = world.client.get("/readyz")
    assert answer.json() == {"status": "ready", "checks": ALL_OK}
    assert answer.status_code == 200


def test_a_database_of_another_version_is_reported(world: World) -> None:
    with world.database.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = 'other'"))
    answer = world.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unready", "checks": ALL_OK | {"migrations": "failed"}}


def test_a_database_without_schema_is_reported(world: World) -> None:
    with world.database.transaction() as session:
        session.execute(text("DROP TABLE alembic_version"))
    assert world.client.get("/readyz").json()["checks"] == ALL_OK | {"migrations": "failed"}


def test_an_unreachable_broker_or_database_is_reported_without_its_address(
    world: World, settings, log_text
) -> None:
    away = settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    context = replace(world.app.state.context, settings=away)
    world.app.state.readiness = health.ReadinessProbe(context)
    answer = world.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == ALL_OK | {"broker": "failed"}
    assert "127.0.0.1" not in answer.text + log_text()


def test_an_unreachable_object_store_is_reported(world: World) -> None:
    class Away:
        def exists(self, _key: str) -> bool:
            raise GenericError("http://objects:9000/secret")

    context = replace(world.app.state.context, store=Away())
    world.app.state.readiness = health.ReadinessProbe(context)
    answer = world.client.get("/readyz")
    assert answer.json()["checks"] == ALL_OK | {"storage": "failed"}
    assert "secret" not in answer.text


def test_an_s3_store_that_is_away_fails_within_seconds() -> None:
    store = open_store("s3://bucket?endpoint=http://127.0.0.1:1&region=us-east-1")
    assert health.probe({"storage": lambda: health.storage_answers(store)}) == {"storage": "failed"}


@pytest.mark.parametrize("path", ["/healthz", "/v1/health"])
def test_a_process_lives_whatever_its_parts_do(world: World, path: str) -> None:
    world.database.close()
    with world.database.transaction() as session:
        session.execute(text("DROP TABLE alembic_version"))
    answer = world.client.get(path)
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


def test_many_probes_cost_one_look() -> None:
    looks, seconds, gate = [], [0.0], threading.Event()

    def look() -> int:
        gate.wait(timeout=600)
        looks.append(len(looks))
        return looks[-1]

    remembered = TtlCache(look, seconds=1.0, monotonic=lambda: seconds[0])
    told: list[int] = []
    probing = [threading.Thread(target=lambda: told.append(remembered())) for _ in range(8)]
    for thread in probing:
        thread.start()
    gate.set()
    for thread in probing:
        thread.join()
    assert told == [0] * 8
    seconds[0] = 0.999
    assert remembered() == 0
    seconds[0] = 1.0
    assert remembered() == 1


def test_readiness_is_remembered_for_a_second_at_most() -> None:
    assert timedelta(seconds=health.CACHE_SECONDS) <= timedelta(seconds=1)


def test_a_request_that_needs_a_store_that_is_away_is_answered_503(world: World, log_text) -> None:
    release_id = world.release()

    def away(_key: str) -> bytes:
        raise GenericError("http://objects:9000/secret")

    world.store.get_bytes = away
    world.store.open = away
    answer = world.owner.get(f"/v1/releases/{release_id}/bundle")
    require_problem(answer, status=503, code="storage-unavailable")
    assert answer.headers["retry-after"]
    assert "secret" not in answer.text + log_text()
