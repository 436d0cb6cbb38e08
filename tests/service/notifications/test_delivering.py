"""How often a delivery is tried, by whom, and when it is given up and forgotten."""

import threading
from collections.abc import Sequence
from datetime import datetime
from ipaddress import ip_network

import pytest
from sqlalchemy import text

from core.jobs.leases import this_process
from core.platform.notifications.attempts import MAX_ATTEMPTS
from core.platform.notifications.dispatch import LEASE_SECONDS, Dispatcher
from core.platform.notifications.messages import Batch
from core.platform.notifications.repository import DELIVERIES, Undelivered, undelivered
from core.platform.notifications.webhook import WebhookTransport
from tests.core.platform.notifications.receiver import Receiver
from tests.service.notifications.support import PATH, deliveries, dispatching, register
from tests.service.world import World, require_problem


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


@pytest.mark.parametrize("seen_dead", [False, True], ids=["its lease runs out", "upkeep sees it dead"])
def test_what_a_sender_that_died_has_taken_is_sent_again_and_nobody_else_sends_it_meanwhile(
    world: World, receiver: Receiver, dispatcher: Dispatcher, seen_dead: bool
) -> None:
    endpoint = register(world.owner, receiver)
    world.owner.post(f"{PATH}/{endpoint['id']}/test")
    with world.database.transaction() as session:
        # private: a sender dies between its two transactions, where no collaborator is called
        taken = dispatcher._take(session)
        assert undelivered(session) == Undelivered(waiting=1, since=world.clock.now(), paused=0)
    assert len(taken) == 1, "as one that dies now has taken it"
    assert dispatcher.round() == 0
    if seen_dead:
        with world.database.transaction() as session:
            now = world.clock.now()
            assert DELIVERIES.end_dead(session, now=now, is_dead=lambda owner: owner != this_process()) == []
            assert DELIVERIES.end_dead(session, now=now, is_dead=lambda owner: owner == this_process())
    else:
        world.clock.advance(seconds=LEASE_SECONDS + 1)
    assert dispatcher.round() == 1
    assert [entry["state"] for entry in deliveries(world.owner, endpoint)] == ["delivered"]


def test_a_sender_that_lost_its_lease_notes_nothing(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    endpoint = register(world.owner, receiver)
    world.owner.post(f"{PATH}/{endpoint['id']}/test")
    first = True

    class Slow:
        """Sends for longer than its lease holds; meanwhile another sender takes the delivery over."""

        def send(self, batch: Batch, *, at: datetime) -> Sequence[str]:
            nonlocal first
            if first:
                first = False
                world.clock.advance(seconds=LEASE_SECONDS + 1)
                assert dispatcher.round() == 1
            return ["http-500"]

    with dispatching(world, {"webhook": Slow()}) as slow:
        assert slow.round() == 1
    (entry,) = deliveries(world.owner, endpoint)
    assert (entry["state"], entry["outcome"], entry["attempts"]) == ("delivered", "delivered", 1)


def test_a_transport_that_breaks_or_hangs_keeps_nobody_else_waiting(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.platform.notifications.dispatch.SENDING_SECONDS", 0.2)
    release = threading.Event()

    class Transport:
        def send(self, batch: Batch, *, at: datetime) -> Sequence[str]:
            if "breaks" in batch.details.target:
                raise ValueError(at)
            if "hangs" in batch.details.target:
                release.wait(60)
            return ["delivered"]

    endpoints = {name: register(world.owner, receiver, f"/{name}") for name in ("breaks", "hangs", "fine")}
    for endpoint in endpoints.values():
        world.owner.post(f"{PATH}/{endpoint['id']}/test")
    with dispatching(world, {"webhook": Transport()}) as dispatcher:
        assert dispatcher.round() == 3
        release.set()
    outcomes = {name: deliveries(world.owner, endpoint)[0]["outcome"] for name, endpoint in endpoints.items()}
    assert outcomes == {"breaks": "broke-off", "hangs": "timeout", "fine": "delivered"}


def test_what_a_slow_receiver_leaves_over_goes_out_with_the_next_round(
    world: World, receiver: Receiver
) -> None:
    dataset_id = world.ready()
    endpoint = register(world.owner, receiver)
    world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a test"})
    world.owner.post(f"{PATH}/{endpoint['id']}/test")
    slow = WebhookTransport(networks=[ip_network("127.0.0.0/8")], plain_allowed=True, batch_seconds=0)
    with dispatching(world, {"webhook": slow}) as dispatcher:
        assert [dispatcher.round() for _ in range(3)] == [1, 1, 0]
    assert len({head["webhook-id"] for head, _ in receiver.received}) == 2
    assert {(entry["state"], entry["attempts"]) for entry in deliveries(world.owner, endpoint)} == {
        ("delivered", 1)
    }


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


def test_what_ended_long_ago_is_forgotten(world: World, receiver: Receiver, dispatcher: Dispatcher) -> None:
    endpoint = register(world.owner, receiver)
    world.owner.post(f"{PATH}/{endpoint['id']}/test")
    dispatcher.round()
    assert dispatcher.forget() == 0
    world.clock.advance(seconds=31 * 86400)
    assert dispatcher.forget() == 1
    assert deliveries(world.owner, endpoint) == []
