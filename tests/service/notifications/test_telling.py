"""Notifications from the API to a real receiver: who is told of what, when, and who is not."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select

from core.clock import FixedClock
from core.db.tables import Job, NotificationDelivery, NotificationEvent
from core.jobs import claims, endings
from core.jobs.states import Cause
from core.platform.access.roles import Role
from core.platform.access.scopes import Scope
from core.platform.notifications.dispatch import Dispatcher
from tests.core.platform.notifications.receiver import Receiver
from tests.service.notifications.support import ASKED, PATH, deliveries, finish, register, told
from tests.service.world import Caller, World


def test_from_a_request_to_a_release(world: World, receiver: Receiver, dispatcher: Dispatcher) -> None:
    dataset_id = world.ready()
    hooks = {
        name: register(getattr(world, name), receiver, f"/{name}")
        for name in ("owner", "analyst", "admin", "stranger")
    }
    other = world.caller(Role.ANALYST)
    world.admit(dataset_id, other)
    hooks["other"] = register(other, receiver, "/other")
    narrow = world.caller(
        Role.ADMIN, scopes=[Scope.NOTIFICATIONS_WRITE, Scope.NOTIFICATIONS_READ, Scope.RELEASES_READ]
    )
    register(narrow, receiver, "/narrow")
    register(world.admin, receiver, "/chosen", kinds=["release.published"])
    request = world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", ASKED).json()
    world.owner.post(f"/v1/budget-requests/{request['id']}/deny", {"note": "not yet, canaries"})
    job = world.order(dataset_id, epsilon=1.9).json()
    finish(world, job)
    dispatcher.round()
    world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "canaries"})
    assert dispatcher.round() > 0
    assert dispatcher.round() == 0, "nothing is told twice"

    ends = ["budget.low", "job.succeeded", "release.published", "dataset.frozen"]
    whole = ["budget-request.filed", "budget-request.denied", *ends]
    for name in ("owner", "analyst", "admin"):
        assert sorted(told(receiver, f"/{name}")) == sorted(whole), name
    assert sorted(told(receiver, "/other")) == sorted(ends), (
        "what another member asks for is not its business"
    )
    assert told(receiver, "/stranger") == []
    assert told(receiver, "/narrow") == ["release.published"], "its key sees nothing else"
    assert told(receiver, "/chosen") == ["release.published"]
    for head, body in receiver.received:
        assert b"canar" not in body
        document = json.loads(body)
        assert set(document) == {"type", "timestamp", "data"}
        assert document["timestamp"].endswith(":00Z")
        assert document["data"]["dataset_id"] == dataset_id
        assert set(document["data"]) <= {"dataset_id", "request_id", "job_id", "release_id", "population_id"}
        assert head["webhook-id"].startswith("msg_")
    log = deliveries(world.owner, hooks["owner"])
    assert {entry["state"] for entry in log} == {"delivered"}
    assert len({entry["event_id"] for entry in log}) == len(log) == len(whole)


def test_a_training_is_reported_at_its_edge_and_not_before(world: World) -> None:
    """Between the end of the child and the edge there is no row that anybody, or any backup, could read."""
    job = world.order(world.ready()).json()
    with world.database.transaction() as session:
        claim = claims.claim(session, UUID(job["id"]), clock=world.clock, lease_seconds=60, max_attempts=3)
        assert claim is not None

    def of_job() -> list[tuple[str, Any, set[str]]]:
        with world.database.read_only() as session:
            events = session.scalars(select(NotificationEvent)).all()
            return [
                (event.kind, event.at, set(event.facts))
                for event in events
                if event.facts.get("job_id") == job["id"]
            ]

    assert of_job() == []
    edge = FixedClock(world.clock.now() + timedelta(seconds=20))
    with world.database.transaction() as session:
        endings.fail(
            session, claim, code="x", cause=Cause.ROWS, clock=edge, queue=world.queue, max_attempts=3
        )
    assert of_job() == [("job.failed", edge.now(), {"job_id"})], "not why, nor how far it came"


def test_rights_are_checked_again_when_it_is_sent(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    dataset_id = world.ready()
    register(world.analyst, receiver, "/analyst")
    register(world.owner, receiver, "/owner")
    receiver.answer = b"HTTP/1.1 503 Later\r\n\r\n"
    world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a test"})
    dispatcher.round()
    assert told(receiver, "/analyst") == ["dataset.frozen"]
    assert (
        world.owner.delete(f"/v1/datasets/{dataset_id}/members/{world.analyst.principal_id}").status_code
        == 200
    )
    receiver.answer = b"HTTP/1.1 204 No Content\r\n\r\n"
    world.clock.advance(seconds=60)
    dispatcher.round()
    assert told(receiver, "/owner") == ["dataset.frozen"] * 2
    assert told(receiver, "/analyst") == ["dataset.frozen"], "it may see the dataset no longer"
    with world.database.read_only() as session:
        outcomes = session.execute(select(NotificationDelivery.state, NotificationDelivery.outcome)).all()
    assert sorted(tuple(row) for row in outcomes) == [("delivered", "delivered"), ("dropped", "not-visible")]


def test_the_log_shows_what_the_key_that_asks_may_know_and_no_more(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    dataset_id = world.ready()
    endpoint = register(world.analyst, receiver)
    world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a test"})
    world.analyst.post(f"{PATH}/{endpoint['id']}/test")
    dispatcher.round()

    def kinds(caller: Caller) -> list[str]:
        return sorted(entry["kind"] for entry in deliveries(caller, endpoint))

    key = {
        "name": "narrow", "roles": ["analyst"], "principal_id": str(world.analyst.principal_id),
        "scopes": ["notifications:read", "jobs:read"],
    }  # fmt: skip
    narrow = Caller(
        world.client, world.analyst.post("/v1/keys", key).json()["key"], world.analyst.principal_id
    )
    assert kinds(world.analyst) == ["dataset.frozen", "test"]
    assert kinds(narrow) == ["test"], "a key without budget:read sees no freeze anywhere else"
    world.owner.delete(f"/v1/datasets/{dataset_id}/members/{world.analyst.principal_id}")
    assert kinds(world.analyst) == ["test"], "it may see the dataset no longer"


def test_cancelled_jobs_are_reported_once(world: World) -> None:
    job = world.job()
    for _ in range(2):
        world.analyst.post(f"/v1/jobs/{job['id']}/cancel")
    with world.database.read_only() as session:
        kinds = session.scalars(
            select(NotificationEvent.kind).where(NotificationEvent.kind.like("job.%"))
        ).all()
        assert session.get_one(Job, UUID(job["id"])).state == "cancelled"
    assert kinds == ["job.cancelled"]


def test_a_recovery_notifies_the_person_and_auditors(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    """Whatever kinds the person's endpoint chose: who can become its principal is told anyway."""
    register(world.owner, receiver, "/owner", kinds=["job.succeeded"])
    register(world.caller(Role.AUDITOR), receiver, "/auditor")
    register(world.admin, receiver, "/admin")
    register(world.stranger, receiver, "/stranger")
    register(world.caller(Role.AUDITOR, scopes=[Scope.NOTIFICATIONS_WRITE]), receiver, "/narrow")
    world.admin.post("/v1/people", {"name": "Ada", "roles": ["owner"]})
    dispatcher.round()
    assert receiver.received == [], "a first enrolment is no recovery"
    made = world.admin.post(f"/v1/people/{world.owner.principal_id}/enrolments").json()
    world.client.post("/v1/enrolments", json={"token": made["token"]})
    world.owner.delete(f"/v1/enrolments/{made['id']}")
    dispatcher.round()
    kinds = ["recovery.accepted", "recovery.cancelled", "recovery.made"]
    for path in ("/owner", "/auditor", "/admin"):
        assert sorted(told(receiver, path)) == kinds, path
    assert told(receiver, "/stranger") == told(receiver, "/narrow") == []
    for _head, body in receiver.received:
        assert json.loads(body)["data"] == {
            "enrolment_id": made["id"], "principal_id": str(world.owner.principal_id),
        }  # fmt: skip
