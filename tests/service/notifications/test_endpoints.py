"""Endpoints from their registration to their end: keys, secrets, quotas."""

from base64 import b64decode
from uuid import UUID

from sqlalchemy import text

from core.platform.access.roles import Role
from core.platform.notifications.dispatch import Dispatcher
from tests.core.platform.notifications.receiver import Receiver
from tests.core.platform.notifications.test_webhook import verified
from tests.service.notifications.support import PATH, register, told
from tests.service.world import Caller, World, require_problem


def test_a_revoked_key_ends_what_it_registered_and_a_successor_takes_it_over(
    world: World, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    dataset_id = world.ready()
    auditor = world.caller(Role.AUDITOR)
    key = auditor.post("/v1/keys", {"name": "a", "roles": ["auditor"]}).json()
    first = Caller(world.client, key["key"], UUID(key["principal_id"]))
    endpoint = register(first, receiver)
    rotated = first.post(f"/v1/keys/{key['id']}/rotate").json()
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
