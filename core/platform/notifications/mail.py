"""Sending e-mail: plain text, one message with all due events, over a connection that must be secured.

Messages contain only kinds, minutes and ids, no values or names. Addresses have a plain form that cannot
inject a header, and headers are set by a library that refuses line breaks.
"""

import re
import smtplib
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final, Literal

from core.db.outbox import Kind
from core.platform.notifications.attempts import DELIVERED
from core.platform.notifications.details import code_of
from core.platform.notifications.errors import TargetRefused
from core.platform.notifications.messages import WORDS, Batch, Message, full_minute, spelt
from core.platform.settings import Settings

Security = Literal["starttls", "tls", "none"]

PATIENCE_SECONDS: Final = 8.0
LONGEST_ADDRESS: Final = 254
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LOCAL: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
# An encoded word (RFC 2047) would be decoded in the header, possibly into commas and other people's addresses.
_ADDRESS: Final = re.compile(rf"(?=.{{1,64}}@)(?!.*=\?){_LOCAL}@(?:{_LABEL}\.)+{_LABEL}", re.ASCII)
_FOOT: Final = (
    "You registered this address for notifications. See the details, or remove the address, in the dashboard under"
    " Notifications.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The operator's mail server.

    Args:
        security: starttls (mandatory, not opportunistic), tls from the first byte, or none.
        sender: The From address.
        user: None for no login.
        tls: How its certificate is verified; with the system's authorities by default.
    """

    host: str
    port: int
    security: Security
    sender: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None

    @contextmanager
    def connected(self) -> Iterator[smtplib.SMTP]:
        """A secured and authenticated connection.

        Raises:
            OSError: No connection, or it is not secure (`ssl.SSLError`).
            smtplib.SMTPException: The server refuses.
        """
        context = self.tls or ssl.create_default_context()
        server = (
            smtplib.SMTP_SSL(self.host, self.port, timeout=PATIENCE_SECONDS, context=context)
            if self.security == "tls"
            else smtplib.SMTP(self.host, self.port, timeout=PATIENCE_SECONDS)
        )
        with server:
            if self.security == "starttls":
                server.starttls(context=context)
            if self.user is not None:
                server.login(self.user, self.password or "")
            yield server

    def answers(self) -> bool:
        """Whether the server can be used with these settings."""
        try:
            with self.connected() as server:
                return server.noop()[0] == 250  # noqa: PLR2004 - SMTP's code for success
        except (OSError, smtplib.SMTPException):
            return False


def parse_address(text: str) -> str:
    """Check that an e-mail address has the plain form name@example.org, and return it.

    Raises:
        TargetRefused: It has another form.
    """
    if len(text) > LONGEST_ADDRESS or _ADDRESS.fullmatch(text) is None:
        raise TargetRefused(
            "This is not a plain e-mail address.",
            remedy="Register one such as name@example.org, without display name, quotes or non-ASCII characters.",
        )
    return text


def mail_server(settings: Settings) -> MailServer | None:
    """The configured mail server, if any."""
    if settings.smtp_host is None or settings.smtp_sender is None:
        return None
    password = settings.smtp_password
    return MailServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=settings.smtp_security,
        sender=settings.smtp_sender,
        user=settings.smtp_user,
        password=None if password is None else password.get_secret_value(),
    )


class MailTransport:
    """Delivers e-mail."""

    def __init__(self, server: MailServer) -> None:
        self._server = server

    def send(self, batch: Batch, *, at: datetime) -> Sequence[str]:
        """Deliver all events in one message. Returns the same code for each event."""
        return [self._outcome(batch, at=at)] * len(batch.messages)

    def _outcome(self, batch: Batch, *, at: datetime) -> str:
        message = written(batch, sender=self._server.sender, at=at)
        try:
            with self._server.connected() as server:
                server.send_message(message, from_addr=self._server.sender, to_addrs=[batch.details.target])
        except (ssl.SSLError, smtplib.SMTPNotSupportedError):
            return "tls-failed"
        except (smtplib.SMTPConnectError, smtplib.SMTPServerDisconnected):
            return "unreachable"
        except smtplib.SMTPException:
            return "mail-refused"
        except OSError:
            return "unreachable"
        return DELIVERED


def written(batch: Batch, *, sender: str, at: datetime) -> EmailMessage:
    """Compose the message for a batch."""
    confirms = [message for message in batch.messages if message.kind is Kind.CONFIRM]
    events = [message for message in batch.messages if message.kind is not Kind.CONFIRM]
    made = EmailMessage()
    made["From"] = sender
    made["To"] = batch.details.target
    made["Date"] = format_datetime(full_minute(at))
    made["Message-ID"] = f"<{batch.messages[0].event_id.hex}@{sender.rpartition('@')[2]}>"
    made["Auto-Submitted"] = "auto-generated"
    if confirms:
        made["Subject"] = "understudy: confirm this address"
        code = code_of(batch.details.secret)
        made.set_content(
            "This address was registered for notifications from understudy.\n\nIf you did that, the code"
            f" is\n\n    {code}\n\n"
            "It is valid for a day. If you did not, do nothing: you will receive no further e-mail.\n"
        )
        return made
    made["Subject"] = (
        f"understudy: {WORDS[events[0].kind]}" if len(events) == 1 else f"understudy: {len(events)} events"
    )
    made.set_content("\n\n".join(map(_line, events)) + f"\n\n-- \n{_FOOT}")
    return made


def _line(message: Message) -> str:
    ids = "".join(
        f"\n    {name.removesuffix('_id')} {identity}" for name, identity in sorted(message.ids.items())
    )
    return f"{spelt(message.at)}  {WORDS[message.kind]}{ids}"
