from dataclasses import replace

from sqlalchemy import text

from tests.service.world import World


def test_a_service_with_everything_is_ready(world: World) -> None:
    answer = world.client.get("/healthz")
    assert answer.json() == {
        "status": "ready",
        "checks": {"database": True, "migrations": True, "broker": True},
    }
    assert answer.status_code == 200


def test_a_database_of_another_version_is_told(world: World) -> None:
    with world.database.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = 'other'"))
    answer = world.client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {"database": True, "migrations": False, "broker": True}


def test_a_database_without_schema_is_told(world: World) -> None:
    with world.database.transaction() as session:
        session.execute(text("DROP TABLE alembic_version"))
    assert world.client.get("/healthz").json()["checks"]["migrations"] is False


def test_a_broker_that_is_away_is_told(world: World, settings) -> None:
    away = settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    world.app.state.parts = replace(world.app.state.parts, settings=away)
    answer = world.client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["checks"] == {"database": True, "migrations": True, "broker": False}
    assert "127.0.0.1" not in answer.text
