"""A real receiver, a real mail server, and the sender between them and the database."""

from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from core.platform.notifications.dispatch import Dispatcher, Transport
from core.platform.notifications.mail import MailServer, MailTransport
from core.platform.notifications.webhook import WebhookTransport
from tests.core.platform.notifications.mailbox import Mailbox, mailbox
from tests.core.platform.notifications.receiver import Receiver, receiving
from tests.service.notifications.support import dispatching
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
    server = MailServer(host="127.0.0.1", port=box.port, security="none", sender="understudy@example.org")
    transports: dict[str, Transport] = {
        "webhook": WebhookTransport(networks=[ip_network("127.0.0.0/8")], plain_allowed=True),
        "email": MailTransport(server),
    }
    with dispatching(world, transports) as made:
        yield made
