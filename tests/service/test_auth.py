from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from core.platform.access.recent import RECENT_SECONDS
from core.platform.access.roles import Role
from service.app import create_app
from tests.core.artifacts.stand_in import DOMAIN
from tests.memory_queue import MemoryQueue
from tests.service.world import NOON, World, require_problem


def test_a_new_key_works_at_once_and_is_shown_once(world: World) -> None:
    made = world.caller(*Role).post("/v1/keys", {"name": "group", "roles": ["analyst", "owner"]})
    assert made.status_code == 201
    document = made.json()
    assert document["roles"] == ["analyst", "owner"]
    assert document["key"].startswith(f"us_{document['prefix']}_")
    headers = {"Authorization": f"Bearer {document['key']}"}
    assert world.client.get("/v1/datasets", headers=headers).status_code == 200
    listed = world.admin.get("/v1/keys")
    assert document["key"] not in listed.text
    assert document["id"] in [key["id"] for key in listed.json()["items"]]


def as_key(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def make(world: World, **changes: object) -> dict[str, Any]:
    made = world.caller(*Role).post("/v1/keys", {"name": "a", "roles": ["owner"]} | changes)
    assert made.status_code == 201, made.text
    document: dict[str, Any] = made.json()
    return document


def test_a_rotated_key_speaks_for_the_same_principal(world: World, settings) -> None:
    made = make(world, scopes=["datasets:read", "datasets:write", "keys:write"])
    headers = as_key(made["key"])
    body = {"name": "a", "domain": DOMAIN, "declared_size": 9}
    dataset_id = world.client.post("/v1/datasets", json=body, headers=headers).json()["id"]
    answer = world.client.post(f"/v1/keys/{made['id']}/rotate", headers=headers)
    assert answer.status_code == 201
    new = answer.json()
    same = ("principal_id", "name", "roles", "scopes")
    assert [new[name] for name in same] == [made[name] for name in same]
    assert datetime.fromisoformat(new["old_key_ends_at"]) == NOON + timedelta(days=1)
    for key in (made["key"], new["key"]):
        assert world.client.get(f"/v1/datasets/{dataset_id}", headers=as_key(key)).status_code == 200
    world.clock.advance(seconds=24 * 3600)
    require_problem(world.client.get("/v1/datasets", headers=headers), status=401, code="key-refused")
    assert world.client.get("/v1/datasets", headers=as_key(new["key"])).status_code == 200
    listed = {key["id"]: key for key in world.admin.get("/v1/keys").json()["items"]}
    assert listed[made["id"]]["replaced_by"] == new["id"]
    new_headers = as_key(new["key"])
    last = world.client.post(f"/v1/keys/{new['id']}/rotate", headers=new_headers).json()
    again = world.client.post(f"/v1/keys/{new['id']}/rotate", headers=new_headers)
    require_problem(again, status=409, code="key-ended")
    assert last["replaced_by"] is None
    assert settings.key_overlap_seconds == 24 * 3600


def test_a_key_rotates_itself_and_no_other(world: World) -> None:
    mine, other = make(world), make(world)
    headers = as_key(mine["key"])
    answer = world.client.post(f"/v1/keys/{other['id']}/rotate", headers=headers)
    require_problem(answer, status=404, code="key-not-found")
    answer = world.client.post(f"/v1/keys/{mine['id']}/rotate", headers=headers)
    assert answer.status_code == 201
    assert answer.json()["expires_at"] == mine["expires_at"], "it does not prolong its life"


@pytest.mark.parametrize(
    ("expires_at", "ends"),
    [
        (None, NOON + timedelta(days=365)),
        ("never", None),
        ("2026-03-02T00:00:00+02:00", datetime(2026, 3, 1, 22, tzinfo=UTC)),
    ],
)
def test_a_key_expires_at_its_time(world: World, expires_at, ends) -> None:
    made = make(world, expires_at=expires_at)
    assert (made["expires_at"] and datetime.fromisoformat(made["expires_at"])) == ends


@pytest.mark.parametrize(
    ("expires_at", "code"),
    [
        ("2026-03-01T12:00:00Z", "expiry-refused"),
        ("2046-03-01T12:00:00Z", "expiry-refused"),
        ("9999-12-31T23:59:59-14:00", "expiry-refused"),
        ("2026-03-05T12:00:00", "invalid-input"),
        ("tomorrow", "invalid-input"),
        (7, "invalid-input"),
    ],
)
def test_a_key_does_not_end_at_nonsense(world: World, expires_at, code) -> None:
    body = {"name": "a", "roles": ["owner"], "expires_at": expires_at}
    require_problem(world.owner.post("/v1/keys", body), status=422, code=code)


def test_a_narrowed_key_does_only_that(world: World) -> None:
    headers = as_key(make(world, scopes=["datasets:read"])["key"])
    assert world.client.get("/v1/datasets", headers=headers).status_code == 200
    problem = require_problem(world.client.get("/v1/jobs", headers=headers), status=403, code="scope-missing")
    assert problem["facts"] == {"needed_scope": "jobs:read"}
    body = {"name": "a", "roles": ["owner"], "scopes": ["everything"]}
    require_problem(world.admin.post("/v1/keys", body), status=422, code="invalid-input")


def test_last_use_is_shown_to_the_minute(world: World) -> None:
    made = make(world)

    def last_used() -> object:
        keys = world.admin.get("/v1/keys").json()["items"]
        return next(key["last_used_at"] for key in keys if key["id"] == made["id"])

    assert last_used() is None
    world.client.get("/v1/datasets", headers=as_key(made["key"]))
    first = last_used()
    assert first is not None
    world.clock.advance(seconds=30)
    world.client.get("/v1/datasets", headers=as_key(made["key"]))
    assert last_used() == first
    world.clock.advance(seconds=30)
    world.client.get("/v1/datasets", headers=as_key(made["key"]))
    assert last_used() != first


def test_a_revocation_reaches_every_process_within_two_seconds(world: World, settings) -> None:
    other = create_app(
        settings, database=world.database, queue=MemoryQueue(), store=world.store, clock=world.clock
    )
    made = make(world)
    headers = as_key(made["key"])
    with TestClient(other) as client:
        assert client.get("/v1/datasets", headers=headers).status_code == 200
        world.admin.delete(f"/v1/keys/{made['id']}")
        refused = world.client.get("/v1/datasets", headers=headers)
        require_problem(refused, status=401, code="key-refused")
        world.clock.advance(seconds=RECENT_SECONDS)
        require_problem(client.get("/v1/datasets", headers=headers), status=401, code="key-refused")


def test_a_key_in_use_asks_the_database_nothing(world: World) -> None:
    asked: list[str] = []
    event.listen(world.database.engine, "before_cursor_execute", lambda *args: asked.append(args[2]))
    made = make(world, roles=["owner", "analyst"])
    for _ in range(3):
        world.client.get("/v1/session", headers=as_key(made["key"]))
    before = len(asked)
    for _ in range(20):
        assert world.client.get("/v1/session", headers=as_key(made["key"])).status_code == 200
    assert len(asked) == before


def test_a_key_needs_a_known_role(world: World) -> None:
    for roles in ([], ["root"], "owner"):
        require_problem(
            world.admin.post("/v1/keys", {"name": "a", "roles": roles}), status=422, code="invalid-input"
        )


def test_revoking_what_is_not_there(world: World) -> None:
    require_problem(world.admin.delete(f"/v1/keys/{uuid4()}"), status=404, code="key-not-found")


def test_making_and_revoking_keys_is_audited(world: World) -> None:
    from core.db.tables import AuditEvent

    made = world.admin.post("/v1/keys", {"name": "a", "roles": ["admin"]}).json()
    world.admin.delete(f"/v1/keys/{made['id']}")
    with world.database.read_only() as session:
        events = session.query(AuditEvent).order_by(AuditEvent.sequence).all()
        told = [(event.action, UUID(event.object), event.outcome) for event in events]
    assert told == [("key.create", UUID(made["id"]), "done"), ("key.revoke", UUID(made["id"]), "done")]
