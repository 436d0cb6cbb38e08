"""E-mail: an address is confirmed before it is told anything, and the settings of the mail server."""

import re
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from core.db.tables import NotificationEndpoint
from core.platform.notifications.details import Details, code_of
from core.platform.notifications.dispatch import Dispatcher
from core.platform.notifications.repository import undelivered
from core.platform.settings import Settings
from tests.conftest import MASTER_KEY
from tests.core.platform.notifications.mailbox import Mailbox
from tests.service.notifications.support import PATH, dispatching
from tests.service.world import World, require_problem


def with_mail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator has set a mail server."""
    context = world.app.state.context
    changed = context.settings.model_copy(update={"smtp_host": "127.0.0.1", "smtp_sender": "u@example.org"})
    monkeypatch.setattr(world.app.state, "context", replace(context, settings=changed))


def test_an_address_gets_nothing_before_it_is_confirmed_and_then_digests(
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

    def registered() -> tuple[dict[str, Any], str]:
        """An address that waits for its code, and the code."""
        made = world.owner.post(PATH, {"channel": "email", "target": "a.person@example.org"}).json()
        with world.database.read_only() as session:
            row = session.get_one(NotificationEndpoint, UUID(made["id"]))
            details = Details.open(
                row.wrapped_details or b"", world.app.state.context.settings.master_keys, UUID(made["id"])
            )
        return made, code_of(details.secret)

    made, code = registered()
    path = f"{PATH}/{made['id']}/confirm"
    for left in (4, 3, 2, 1, 0):
        problem = require_problem(world.owner.post(path, {"code": "wrong"}), status=422)
        assert problem["facts"] == {"tries_left": left}
    require_problem(world.owner.post(path, {"code": code}), status=422, code="confirmation-refused")
    require_problem(world.owner.post(f"{PATH}/{made['id']}/resume"), status=409)

    made, code = registered()
    path = f"{PATH}/{made['id']}/confirm"
    world.clock.advance(seconds=86_401)
    require_problem(world.owner.post(path, {"code": code}), status=422, code="confirmation-refused")
    world.clock.advance(seconds=-2)
    assert world.owner.post(path, {"code": code}).json()["state"] == "active"


def test_what_waits_for_a_mail_server_that_is_gone_is_not_kept_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_mail(world, monkeypatch)
    world.owner.post(PATH, {"channel": "email", "target": "a.person@example.org"})

    def waiting() -> int:
        with world.database.read_only() as session:
            return undelivered(session).waiting

    with dispatching(world, {}) as dispatcher:
        assert (dispatcher.round(), dispatcher.forget(), waiting()) == (0, 0, 1)
        world.clock.advance(seconds=31 * 86400)
        assert (dispatcher.forget(), waiting()) == (0, 1), "it could still be on its way"
        world.clock.advance(seconds=8 * 86400)
        assert (dispatcher.forget(), waiting()) == (1, 0)


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
