"""A real receiver, a real mail server, and the sender between them and the database."""

import os
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network

import pytest

from core.notifications.dispatch import Dispatcher
from core.notifications.mail import MailServer, MailTransport
from core.notifications.webhook import WebhookTransport
from tests.core.notifications.mailbox import Mailbox, mailbox
from tests.core.notifications.receiver import Receiver, receiving
from tests.service.world import World


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
        master_keys=world.app.state.context.settings.master_keys,
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
