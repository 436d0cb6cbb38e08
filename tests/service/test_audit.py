"""The audit log over HTTP: what is logged, of whom, from where; found, exported, verified."""

import csv
import hashlib
import io
import json
from itertools import pairwise
from uuid import UUID

import pytest
from sqlalchemy import create_engine, text

from core.artifacts.signing.contexts import AUDIT_EXPORT, AUDIT_HEAD
from core.artifacts.signing.signed import SignedDocument, verify
from core.clock import FixedClock
from core.db.errors import DatabaseUnavailable
from core.db.session import driver_url
from core.ledger import audit_log
from core.platform.access.roles import Role
from service.auditing.exporting import export_pieces
from service.current_request import current_trail
from service.edge.audit_trail import ANONYMOUS_BURST, AnonymousPace
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import Caller, World, require_problem


@pytest.fixture
def auditor(world: World) -> Caller:
    return world.caller(Role.AUDITOR)


def events(caller: Caller, **query: str) -> list[dict]:
    answer = caller.get("/v1/audit", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def declare(world: World) -> None:
    """One action, and one event."""
    answer = world.owner.post("/v1/datasets", {"name": "wards", "domain": DOMAIN, "declared_size": 9})
    assert answer.status_code == 201


def trusted(caller: Caller) -> dict[str, bytes]:
    items = caller.get("/v1/signing-keys").json()["items"]
    return {item["key_id"]: bytes.fromhex(item["public_key"]) for item in items}


def test_an_action_is_logged_with_who_what_which_where_and_the_request(world: World, auditor: Caller) -> None:
    answer = world.owner.post("/v1/datasets", {"name": "wards", "domain": DOMAIN, "declared_size": 9})
    (event,) = events(auditor, action="dataset.declare")
    principal, key = event["actor"].split("/")
    assert principal == str(world.owner.principal_id)
    assert UUID(key)
    assert event["object"] == answer.json()["id"]
    assert event["outcome"] == "done"
    assert event["client_address"] == "testclient"
    assert event["request_id"] == answer.headers["x-request-id"]
    assert event["at"].startswith("2026-03-01T12:00")
    assert event["position"] == 1
    assert len(event["hash"]) == 64


def test_refused_changes_are_logged_and_reads_are_not(world: World, auditor: Caller) -> None:
    dataset_id = world.declare()
    body = {"epsilon": 1.0, "delta": 1e-6}
    require_problem(world.owner.put(f"/v1/datasets/{dataset_id}/budget", body), status=403)
    require_problem(world.stranger.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "x"}), status=404)
    require_problem(world.client.post("/v1/keys", json={}), status=401)
    require_problem(world.stranger.get(f"/v1/datasets/{dataset_id}"), status=404)
    require_problem(world.client.get("/v1/datasets"), status=401)
    assert world.client.post("/v1/nothing-here").status_code == 404
    refused = [event for event in events(auditor) if event["outcome"] != "done"]
    assert [(event["action"], event["object"], event["outcome"]) for event in reversed(refused)] == [
        ("set_budget", dataset_id, "role-missing"),
        ("freeze_dataset", dataset_id, "dataset-not-found"),
        ("create_key", "-", "key-missing"),
    ]
    assert refused[2]["actor"].startswith(f"{world.owner.principal_id}/")
    assert refused[0]["actor"] == "anonymous"
    assert all(event["client_address"] == "testclient" and event["request_id"] for event in refused)


def test_a_refusal_of_budget_is_logged_with_its_dataset(world: World, auditor: Caller) -> None:
    dataset_id = world.ready()
    require_problem(world.order(dataset_id, epsilon=500.0), status=409)
    (event,) = events(auditor, object=dataset_id, action="create_job")
    assert event["actor"].startswith(str(world.analyst.principal_id))
    assert "refused" in event["outcome"]


def test_nothing_that_a_caller_writes_gets_into_the_log(world: World, auditor: Caller) -> None:
    canary = "canary-5d1f"
    headers = {"Authorization": f"Bearer {canary}", "X-Forwarded-For": canary, "X-Request-Id": canary}
    world.client.post("/v1/keys", json={"name": canary}, headers=headers)
    world.client.delete(f"/v1/keys/{canary}", headers=headers)
    world.owner.delete(f"/v1/keys/{canary}")
    world.admin.post("/v1/keys", {"name": canary, "roles": ["owner"]})
    assert len(events(auditor)) >= 3
    assert canary not in json.dumps(events(auditor))


def test_nobody_in_particular_cannot_flood_the_log(world: World, auditor: Caller) -> None:
    for _ in range(ANONYMOUS_BURST + 30):
        world.client.post("/v1/keys", json={})
    logged = len(events(auditor, actor="anonymous", limit="200"))
    assert ANONYMOUS_BURST <= logged < ANONYMOUS_BURST + 30


def test_how_many_were_left_out_is_known() -> None:
    seconds = [0.0]
    pace = AnonymousPace(lambda: seconds[0])
    assert [pace.admit() for _ in range(ANONYMOUS_BURST)] == [0] * ANONYMOUS_BURST
    assert [pace.admit() for _ in range(3)] == [None] * 3
    seconds[0] = 1.0
    assert pace.admit() == 3
    assert pace.admit() is None
    seconds[0] = 2.0
    assert pace.admit() == 1


def test_the_refusal_stands_when_it_cannot_be_logged(world: World, log_text, monkeypatch) -> None:
    def away(*_, **__):
        raise DatabaseUnavailable("away")

    monkeypatch.setattr(audit_log, "append", away)
    require_problem(world.client.post("/v1/keys", json={}), status=401, code="key-missing")
    assert "refusal-not-logged" in log_text()


def test_a_page_leads_to_the_next(world: World, auditor: Caller) -> None:
    for _ in range(5):
        declare(world)
    seen, before = [], None
    while True:
        query = {"limit": "2"} | ({} if before is None else {"before": str(before)})
        page = auditor.get("/v1/audit", params=query).json()
        seen += [event["sequence"] for event in page["items"]]
        before = page["next_before"]
        if before is None:
            break
    assert len(seen) == 5
    assert seen == sorted(seen, reverse=True)


def test_events_are_found_by_time_and_actor(world: World, auditor: Caller) -> None:
    declare(world)
    clock: FixedClock = world.clock
    clock.advance(seconds=600)
    world.admin.post("/v1/keys", {"name": "a", "roles": ["admin"]})
    later = "2026-03-01T12:05:00+00:00"
    assert [event["action"] for event in events(auditor, **{"from": later})] == ["key.create"]
    assert [event["action"] for event in events(auditor, to=later)] == ["dataset.declare"]
    assert [event["action"] for event in events(auditor, actor=str(world.admin.principal_id))] == [
        "key.create"
    ]
    require_problem(auditor.get("/v1/audit", params={"from": "2026-03-01T12:05:00"}), status=422)
    ends = {"from": "0001-01-01T00:00:00+01:00", "to": "9999-12-31T23:59:59-01:00"}
    assert [event["action"] for event in events(auditor, **ends)] == ["key.create", "dataset.declare"]
    assert len(auditor.get("/v1/audit/export", params=ends).text.splitlines()) == 4, "an export is noted too"


@pytest.mark.parametrize("batch", [1, 1000])
def test_an_export_is_the_chain_with_a_signed_trailer(
    world: World, auditor: Caller, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(export_pieces.__kwdefaults__, "batch", batch)
    for _ in range(3):
        declare(world)
    answer = auditor.get("/v1/audit/export")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = answer.content.splitlines(keepends=True)
    rows, trailer = [json.loads(line) for line in lines[:-1]], json.loads(lines[-1])["trailer"]
    assert [row["action"] for row in rows] == ["dataset.declare"] * 3 + ["audit.export"]
    assert [row["position"] for row in rows] == [1, 2, 3, 4]
    assert all(row["previous_hash"] == before["hash"] for before, row in pairwise(rows))
    document = verify(SignedDocument.from_json(trailer), context=AUDIT_EXPORT, public_keys=trusted(auditor))
    assert document["events"] == 4
    assert document["sha256"] == hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    assert document["head"] == {"position": 4, "hash": rows[-1]["hash"]}


def test_an_export_as_csv_of_some_events(world: World, auditor: Caller) -> None:
    declare(world)
    world.admin.post("/v1/keys", {"name": "a", "roles": ["admin"]})
    answer = auditor.get("/v1/audit/export", params={"format": "csv", "action": "key.create"})
    lines = answer.content.splitlines(keepends=True)
    (row,) = csv.DictReader(io.StringIO(b"".join(lines[:-1]).decode()))
    assert (row["action"], row["outcome"], row["position"]) == ("key.create", "done", "2")
    trailer = json.loads(lines[-1].removeprefix(b"#"))
    document = verify(SignedDocument.from_json(trailer), context=AUDIT_EXPORT, public_keys=trusted(auditor))
    assert (document["events"], document["filter"]) == (1, {"action": "key.create"})
    assert document["sha256"] == hashlib.sha256(b"".join(lines[:-1])).hexdigest()


def test_a_verification_gives_a_signed_head_until_something_was_changed(
    world: World, auditor: Caller, settings
) -> None:
    declare(world)
    declare(world)
    found = auditor.get("/v1/audit/verification").json()
    assert (found["intact"], found["checked"], found["waiting"], found["problem"]) == (True, 2, 0, None)
    signed = SignedDocument.from_json(found["head"])
    document = verify(signed, context=AUDIT_HEAD, public_keys=trusted(auditor))
    assert document["position"] == 2
    engine = create_engine(driver_url(settings.database_url), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("ALTER TABLE audit_events DISABLE TRIGGER ALL"))
        connection.execute(text("UPDATE audit_events SET actor = 'somebody else' WHERE sequence = 1"))
    engine.dispose()
    found = auditor.get("/v1/audit/verification").json()
    assert (found["intact"], found["broken_at"], found["head"]) == (False, 1, None)
    assert found["problem"] == "the content of an event was changed"


def test_a_request_does_not_wait_for_the_linker(world: World) -> None:
    with world.database.transaction() as session:
        audit_log.lock_chain(session)
        assert (
            world.owner.post("/v1/datasets", {"name": "a", "domain": DOMAIN, "declared_size": 9}).status_code
            == 201
        )


def test_who_asks_is_known_for_the_length_of_a_request_only(world: World) -> None:
    declare(world)
    assert current_trail().principal is None
