"""What the tests of notifications ask and look at."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from core.jobs import claims, endings
from core.platform.notifications.dispatch import Dispatcher, Transport
from tests.core.platform.notifications.receiver import Receiver
from tests.service.world import Caller, World

PATH = "/v1/notifications/endpoints"


ASKED = {"epsilon": 0.5, "delta": 1e-6, "purpose": "a course on canaries"}


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
        endings.finish(
            session, claim, release_id=uuid4(), bundle_key="releases/x", certificate={}, clock=world.clock
        )


@contextmanager
def dispatching(world: World, transports: Mapping[str, Transport]) -> Iterator[Dispatcher]:
    """A dispatcher that sends by these transports."""
    made = Dispatcher(
        world.database,
        master_keys=world.app.state.context.settings.master_keys,
        clock=world.clock,
        transports=transports,
        entropy=os.urandom,
        digest=timedelta(hours=1),
        retention=timedelta(days=30),
    )
    try:
        yield made
    finally:
        made.close()
