"""Upkeep's chore of telling people and programs what has happened; see core.notifications.dispatch."""

import os
from datetime import timedelta

from core.clock import Clock
from core.db.session import Database
from core.notifications.dispatch import Dispatcher, Transport
from core.notifications.mail import MailTransport
from core.notifications.mail_settings import mail_server
from core.notifications.webhook import WebhookTransport
from core.settings import Settings


def dispatcher_of(settings: Settings, *, database: Database, clock: Clock) -> Dispatcher:
    """The dispatcher that an operator's settings describe."""
    transports: dict[str, Transport] = {
        "webhook": WebhookTransport(
            networks=settings.notify_networks, plain_allowed=settings.mode == "embedded"
        )
    }
    server = mail_server(settings)
    if server is not None:
        transports["email"] = MailTransport(server)
    return Dispatcher(
        database,
        master_keys=settings.master_keys,
        clock=clock,
        transports=transports,
        entropy=os.urandom,
        digest=timedelta(minutes=settings.notify_digest_minutes),
        retention=timedelta(days=settings.notification_days),
    )
