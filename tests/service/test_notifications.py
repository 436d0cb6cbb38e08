"""Notifications from the API to a real receiver: who is told of what, when, how often, and who is not."""

import json
import os
import re
import threading
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, text

from core.access.roles import Role
from core.access.scopes import Scope
from core.clock import FixedClock
from core.db.tables import Job, NotificationDelivery, NotificationEndpoint, NotificationEvent
from core.jobs import claims
from core.notifications.attempts import MAX_ATTEMPTS
from core.notifications.codes import code_of
from core.notifications.details import Details
from core.notifications.dispatch import KEPT_FOR, Dispatcher
from core.notifications.mail import MailServer, MailTransport
from core.notifications.messages import Parcel
from core.notifications.repository import Undelivered, undelivered
from core.notifications.webhook import WebhookTransport
from core.settings import Settings
from tests.conftest import MASTER_KEY
from tests.core.notifications.mailbox import Mailbox, mailbox
from tests.core.notifications.receiver import Receiver, receiving
from tests.core.notifications.test_webhook import verified
from tests.service.world import Caller, World, require_problem

PATH = "/v1/notifications/endpoints"
ASKED = {"epsilon": 0.5, "delta": 1e-6, "purpose": "a course on canaries"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mailbox() as found:
        yield found


@pytest.fixture
def dispatcher(world: World, box: Mailbox) -> Iterator[Dispatcher]:
    made = Dispatcher(
        world.database,
        master_keys=world.app.state.parts.settings.master_keys,
        clock=world.clock,
        transports={
            "webhook": WebhookTransport(networks=[ip_network("127.0.0.0/8")], plain_allowed=True),
            "email": MailTransport(
                MailServer(host="127.0.0.1", port=box.port, security="none", sender="understudy@example.org")
            ),
        },
        entropy=os.urandom,
        digest=timedelta(hours=1),
        retention=timedelta(days=30),
    )
    yield made
    made.close()


def register(caller: Caller, receiver: Receiver, path: str = "/hook", **changes: Any) -> dict[str, Any]:
    answer = caller.post(PATH, {"channel": "webhook", "target": receiver.url(path)} | changes)
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


def deliveries(caller: Caller, endpoint: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = caller.get(f"{PATH}/{endpoint['id']}/deliveries").json()["items"]
    return items


def told(receiver: Receiver, path: str = "/hook") -> list[str]:
    """The kinds that came to a path, in order."""
    return [
        json.loads(body)["type"] for head, body in receiver.received if head[":request"].split()[1] == path
    ]


def finish(world: World, job: dict[str, Any]) -> None:
    """End a job as its worker would, at an edge of time."""
    with world.database.transaction() as session:
        claim = claims.claim(session, UUID(job["id"]), clock=world.clock, lease_seconds=60, max_attempts=3)
        assert claim is not None
    world.clock.advance(seconds=10)
    with world.database.transaction() as session:
        claims.finish(
            session, claim, release_id=uuid4(), bundle_key="releases/x", certificate={}, clock=world.clock
        )


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


def test_a_training_is_told_of_at_its_edge_and_not_before(world: World) -> None:
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
        claims.fail(
            session, claim, code="x", data_dependent=True, clock=edge, queue=world.queue, max_attempts=3
        )
    assert of_job() == [("job.failed", edge.now(), {"job_id"})], "not why, nor how far it came"


def test_rights_are_asked_for_again_when_it_is_told(
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


def test_what_fails_is_tried_again_less_and_less_and_then_paused(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    endpoint = register(world.owner, receiver)
    path = f"{PATH}/{endpoint['id']}"
    receiver.answer = b"HTTP/1.1 500 No\r\n\r\n"
    asked = world.owner.post(f"{path}/test")
    assert asked.status_code == 202
    problem = require_problem(world.owner.post(f"{path}/test"), status=429, code="tested-just-now")
    assert problem["facts"]["retry_after_seconds"] == 60
    attempts = 0
    for _ in range(60):
        attempts += dispatcher.round()
        (entry,) = deliveries(world.owner, endpoint)
        if entry["state"] != "waiting":
            break
        world.clock.advance(seconds=1800)
    assert attempts == MAX_ATTEMPTS == entry["attempts"] == len(receiver.received)
    assert len({head["webhook-id"] for head, _ in receiver.received}) == 1, "one id for every attempt"
    assert len({body for _, body in receiver.received}) == 1
    assert (entry["state"], entry["outcome"]) == ("failed", "http-500")
    shown = world.owner.get(path).json()
    assert (shown["state"], shown["paused_because"]) == ("paused", "unreachable")
    require_problem(world.owner.post(f"{path}/test"), status=409, code="notification-endpoint-not-ready")
    assert world.owner.post(f"{path}/resume").json()["state"] == "active"
    receiver.answer = b"HTTP/1.1 410 Gone\r\n\r\n"
    assert world.owner.post(f"{path}/test").status_code == 202
    dispatcher.round()
    assert world.owner.get(path).json()["paused_because"] == "gone", "at once"
    with world.database.read_only() as session:
        noted = session.execute(
            text(
                "SELECT action, outcome FROM audit_events WHERE action LIKE 'notification%' ORDER BY sequence"
            )
        ).all()
    assert [tuple(row) for row in noted] == [
        ("notification.create", "done"), ("notification.test", "done"), ("notification.pause", "unreachable"),
        ("notification.resume", "done"), ("notification.test", "done"), ("notification.pause", "gone"),
    ]  # fmt: skip


def test_a_revoked_key_ends_what_it_registered_and_a_successor_takes_it_over(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    dataset_id = world.ready()
    key = world.admin.post("/v1/keys", {"name": "a", "roles": ["auditor"]}).json()
    first = Caller(world.client, key["key"], UUID(key["principal_id"]))
    endpoint = register(first, receiver)
    rotated = world.admin.post(f"/v1/keys/{key['id']}/rotate").json()
    second = Caller(world.client, rotated["key"], UUID(rotated["principal_id"]))
    world.clock.advance(seconds=25 * 3600)
    world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a test"})
    dispatcher.round()
    assert told(receiver) == ["dataset.frozen"], "the old key has ended, the new one speaks for it"
    world.admin.delete(f"/v1/keys/{key['id']}")
    world.admin.post(f"/v1/datasets/{dataset_id}/unfreeze", {"reason": "a test"})
    world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a test"})
    dispatcher.round()
    assert told(receiver) == ["dataset.frozen"], "whoever revokes a key does not trust what it made"
    assert second.get(f"{PATH}/{endpoint['id']}").json()["paused_because"] == "key-ended"


def test_a_sender_that_died_after_sending_sends_again_and_nobody_else_meanwhile(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    endpoint = register(world.owner, receiver)
    world.owner.post(f"{PATH}/{endpoint['id']}/test")
    with world.database.transaction() as session:
        taken = dispatcher._take(session)
        assert undelivered(session) == Undelivered(waiting=1, since=world.clock.now(), paused=0)
    assert len(taken) == 1, "as one that dies now has taken it"
    assert dispatcher.round() == 0
    world.clock.advance(seconds=KEPT_FOR.total_seconds())
    assert dispatcher.round() == 1
    assert [entry["state"] for entry in deliveries(world.owner, endpoint)] == ["delivered"]


def test_a_transport_that_breaks_or_hangs_keeps_nobody_else_waiting(
    world: World, receiver: Receiver, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.notifications.dispatch.SENDING_SECONDS", 0.2)
    release = threading.Event()

    class Transport:
        def send(self, parcel: Parcel, *, at: datetime) -> Sequence[str]:
            if "breaks" in parcel.details.target:
                raise ValueError(at)
            if "hangs" in parcel.details.target:
                release.wait(60)
            return ["delivered"]

    endpoints = {name: register(world.owner, receiver, f"/{name}") for name in ("breaks", "hangs", "fine")}
    for endpoint in endpoints.values():
        world.owner.post(f"{PATH}/{endpoint['id']}/test")
    dispatcher._transports = {"webhook": Transport()}
    assert dispatcher.round() == 3
    release.set()
    outcomes = {name: deliveries(world.owner, endpoint)[0]["outcome"] for name, endpoint in endpoints.items()}
    assert outcomes == {"breaks": "broke-off", "hangs": "timeout", "fine": "delivered"}


def test_one_whose_address_cannot_be_opened_is_paused_and_can_be_removed(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    endpoint = register(world.owner, receiver)
    world.owner.post(f"{PATH}/{endpoint['id']}/test")
    with world.database.transaction() as session:
        session.execute(text("UPDATE notification_endpoints SET wrapped_details = 'x'"))
    assert dispatcher.round() == 0
    (shown,) = world.owner.get(PATH).json()["items"]
    assert (shown["target"], shown["paused_because"]) == ("-", "sealed")
    assert world.owner.delete(f"{PATH}/{endpoint['id']}").status_code == 204


def test_secrets_are_shown_once_rotate_and_are_gone_with_the_endpoint(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    endpoint = register(world.owner, receiver)
    path = f"{PATH}/{endpoint['id']}"
    rotated = world.owner.post(f"{path}/rotate").json()
    assert rotated["secret"].startswith("whsec_")
    assert rotated["secret"] != endpoint["secret"]
    assert "secret" not in world.owner.get(path).json()
    assert world.owner.get(PATH).json()["items"] == [world.owner.get(path).json()]
    world.owner.post(f"{path}/test")
    dispatcher.round()
    for secret in (endpoint["secret"], rotated["secret"]):
        assert verified(receiver.received[0], b64decode(secret.removeprefix("whsec_")))
    with world.database.read_only() as session:
        dump = str(session.execute(text("SELECT * FROM notification_endpoints")).all())
        assert "127.0.0.1" not in dump
    world.owner.post(f"{path}/test")
    assert world.owner.delete(path).status_code == 204
    assert dispatcher.round() == 0
    require_problem(world.owner.get(path), status=404, code="notification-endpoint-not-found")
    require_problem(world.owner.delete(path), status=404)
    with world.database.read_only() as session:
        (left,) = session.execute(text("SELECT wrapped_details FROM notification_endpoints")).all()
    assert left.wrapped_details is None


def test_what_cannot_be_registered(world: World) -> None:
    web = {"channel": "webhook", "target": "https://example.org/"}
    for changes, code in (
        ({"target": "ftp://example.org/"}, "notification-target-refused"),
        ({"kinds": ["test"]}, "invalid-input"),
        ({"channel": "pigeon"}, "invalid-input"),
        ({"target": "https://example.org/\u0000"}, "invalid-input"),
    ):
        require_problem(world.owner.post(PATH, web | changes), status=422, code=code)


def test_so_many_endpoints_and_so_many_a_day(world: World) -> None:
    hook = {"channel": "webhook", "target": "https://example.org/"}
    made = [world.owner.post(PATH, hook).json()["id"] for _ in range(10)]
    require_problem(world.owner.post(PATH, hook), status=409, code="quota-exceeded")
    for number in range(10):
        assert world.owner.delete(f"{PATH}/{made[number]}").status_code == 204
        made.append(world.owner.post(PATH, hook).json()["id"])
    world.owner.delete(f"{PATH}/{made[-1]}")
    require_problem(world.owner.post(PATH, hook), status=409, code="quota-exceeded")
    world.clock.advance(seconds=86401)
    assert world.owner.post(PATH, hook).status_code == 201


def test_what_ended_long_ago_is_forgotten(world: World, receiver: Receiver, dispatcher: Dispatcher) -> None:
    endpoint = register(world.owner, receiver)
    world.owner.post(f"{PATH}/{endpoint['id']}/test")
    dispatcher.round()
    assert dispatcher.forget() == 0
    world.clock.advance(seconds=31 * 86400)
    assert dispatcher.forget() == 1
    assert deliveries(world.owner, endpoint) == []


def test_jobs_that_are_cancelled_are_told_of_once(world: World) -> None:
    job = world.job()
    for _ in range(2):
        world.analyst.post(f"/v1/jobs/{job['id']}/cancel")
    with world.database.read_only() as session:
        kinds = session.scalars(
            select(NotificationEvent.kind).where(NotificationEvent.kind.like("job.%"))
        ).all()
        assert session.get_one(Job, UUID(job["id"])).state == "cancelled"
    assert kinds == ["job.cancelled"]


def with_mail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator has set a mail server."""
    parts = world.app.state.parts
    changed = parts.settings.model_copy(update={"smtp_host": "127.0.0.1", "smtp_sender": "u@example.org"})
    monkeypatch.setattr(world.app.state, "parts", replace(parts, settings=changed))


def test_an_address_is_told_nothing_before_it_is_confirmed_and_then_in_digests(
    world: World, box: Mailbox, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = {"channel": "email", "target": "a.person@example.org"}
    require_problem(world.owner.post(PATH, person), status=409, code="mail-not-set")
    with_mail(world, monkeypatch)
    require_problem(
        world.owner.post(PATH, person | {"target": "a@example.org,b@example.org"}),
        status=422,
        code="notification-target-refused",
    )
    made = world.owner.post(PATH, person).json()
    assert (made["state"], made["secret"]) == ("unconfirmed", None)
    path = f"{PATH}/{made['id']}"
    dataset_id = world.ready()

    def freeze(times: int) -> None:
        for _ in range(times):
            world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a test"})
            world.admin.post(f"/v1/datasets/{dataset_id}/unfreeze", {"reason": "a test"})

    freeze(1)
    dispatcher.round()
    (message,) = box.received
    (code,) = re.findall(r"^ {4}([A-Z2-7]{8})\r?$", message.get_content(), re.MULTILINE)
    wrong = "A" * 8 if code != "A" * 8 else "B" * 8
    problem = require_problem(world.owner.post(f"{path}/confirm", {"code": wrong}), status=422)
    assert (problem["code"], problem["facts"]) == ("confirmation-refused", {"tries_left": 4})
    require_problem(world.stranger.post(f"{path}/confirm", {"code": code}), status=404)
    assert world.owner.post(f"{path}/confirm", {"code": code.lower()}).json()["state"] == "active"
    world.clock.advance(seconds=3600)
    freeze(1)
    dispatcher.round()
    assert [one["subject"] for one in box.received[1:]] == ["understudy: A dataset was frozen."]
    assert dataset_id in box.received[1].get_content()
    freeze(3)
    assert dispatcher.round() == 0, "within the hour: they wait for each other"
    world.clock.advance(seconds=3600)
    assert dispatcher.round() == 3
    assert box.received[2]["subject"] == "understudy: 3 events"
    assert len(box.received) == 3


def test_five_wrong_codes_or_a_day_and_the_address_is_void(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_mail(world, monkeypatch)
    made = world.owner.post(PATH, {"channel": "email", "target": "a.person@example.org"}).json()
    with world.database.read_only() as session:
        row = session.get_one(NotificationEndpoint, UUID(made["id"]))
        details = Details.open(
            row.wrapped_details or b"", world.app.state.parts.settings.master_keys, UUID(made["id"])
        )
    path, code = f"{PATH}/{made['id']}/confirm", code_of(details.secret)
    for left in (4, 3, 2, 1, 0):
        problem = require_problem(world.owner.post(path, {"code": "wrong"}), status=422)
        assert problem["facts"] == {"tries_left": left}
    require_problem(world.owner.post(path, {"code": code}), status=422, code="confirmation-refused")
    require_problem(world.owner.post(f"{PATH}/{made['id']}/resume"), status=409)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"smtp_sender": None}, "needs smtp_sender"),
        ({"smtp_user": "u"}, "come together"),
        ({"smtp_security": "none", "mode": "production"}, "embedded stack"),
        ({"smtp_password": "p", "smtp_password_file": "/nowhere"}, "not both"),
        ({"smtp_password_file": "/nowhere"}, "cannot be read"),
    ],
    ids=["no-sender", "no-password", "not-secured", "twice", "no-file"],
)
def test_settings_of_mail_that_cannot_be_meant_are_refused(changes: dict[str, Any], fault: str) -> None:
    given = {
        "mode": "embedded", "database_url": "postgresql://", "broker_url": "memory://", "storage_url": "memory://",
        "scratch_folder": "/nowhere", "master_key": MASTER_KEY, "smtp_host": "mail.example.org",
        "smtp_sender": "u@example.org",
    }  # fmt: skip
    with pytest.raises(ValueError, match=fault):
        Settings.model_validate(given | changes)
