"""Sending a webhook: one POST to a checked address; only the status of the response is read.

The name is resolved once, and the connection is made to the checked address, which defeats DNS rebinding. The
certificate is verified against the name. A redirect is not followed and counts as a failure. The body of the
response is not read.

Signatures follow the Standard Webhooks specification (https://www.standardwebhooks.com, version 1): HMAC-SHA256
covers id, timestamp and body, joined by dots. The header lists one signature for each valid secret. The timestamp
is the minute of sending: no notification has a finer time (core.jobs.visible_progress).
"""

import base64
import hmac
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from threading import Event, Timer
from typing import Final
from uuid import UUID

from core.platform.notifications.addresses import (
    Network,
    Resolve,
    Target,
    allowed_addresses,
    parse_target,
    resolve,
)
from core.platform.notifications.attempts import DELIVERED
from core.platform.notifications.errors import TargetRefused
from core.platform.notifications.messages import Batch, Message

CONNECT_SECONDS: Final = 3.0
WHOLE_SECONDS: Final = 6.0
BATCH_SECONDS: Final = 10.0
"""No message of a batch is sent after this time: the last one must finish within the time that a round
waits."""
_AGENT: Final = "understudy-webhooks/1"
_SUCCESS: Final = range(200, 300)


def signed_headers(
    event_id: UUID, body: bytes, *, secrets: Sequence[bytes], at: datetime
) -> Mapping[str, str]:
    """The three headers that a receiver verifies.

    Args:
        event_id: Lets receivers recognise repeats; the same for every attempt.
        body: The exact bytes.
        secrets: At least one key.
    """
    name = f"msg_{event_id.hex}"
    minute = int(at.timestamp()) // 60 * 60
    return {
        "webhook-id": name,
        "webhook-timestamp": str(minute),
        "webhook-signature": " ".join(f"v1,{signature_of(secret, name, minute, body)}" for secret in secrets),
    }


def signature_of(secret: bytes, name: str, timestamp: int, body: bytes) -> str:
    """One signature, in base64."""
    signed = b".".join((name.encode(), str(timestamp).encode(), body))
    return base64.b64encode(hmac.digest(secret, signed, sha256)).decode()


class WebhookTransport:
    """Delivers webhooks.

    Args:
        networks: Additional allowed networks.
        plain_allowed: Whether http without TLS is accepted.
        tls: How certificates are verified; with the system's authorities by default.
        whole_seconds: Total time limit of one delivery, even if data keeps arriving.
        batch_seconds: Time after which no further delivery to one receiver is begun.
    """

    def __init__(
        self,
        *,
        networks: Sequence[Network],
        plain_allowed: bool,
        resolver: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
        whole_seconds: float = WHOLE_SECONDS,
        batch_seconds: float = BATCH_SECONDS,
    ) -> None:
        self._networks = networks
        self._plain_allowed = plain_allowed
        self._resolve = resolver
        self._tls = tls
        self._whole_seconds = whole_seconds
        self._batch_seconds = batch_seconds

    def send(self, batch: Batch, *, at: datetime) -> Sequence[str]:
        """Deliver messages in order until one fails or time is up. Returns a code for each that was tried."""
        outcomes: list[str] = []
        until = time.monotonic() + self._batch_seconds
        for message in batch.messages:
            outcomes.append(self._outcome(batch, message, at=at))
            if outcomes[-1] != DELIVERED or time.monotonic() >= until:
                break
        return outcomes

    def _outcome(self, batch: Batch, message: Message, *, at: datetime) -> str:
        try:
            target = parse_target(batch.details.target, plain_allowed=self._plain_allowed)
        except TargetRefused:
            return "address-refused"
        try:
            found = self._resolve(target.host, target.port)
        except (OSError, UnicodeError):
            return "name-unknown"
        usable = allowed_addresses(found, self._networks)
        if not usable:
            return "address-refused"
        body = message.body
        signed = signed_headers(message.event_id, body, secrets=batch.details.secrets_at(at), at=at)
        return self._post(target, usable[0], body, dict(signed))

    def _post(self, target: Target, address: str, body: bytes, signed: dict[str, str]) -> str:
        try:
            raw = socket.create_connection((address, target.port), timeout=CONNECT_SECONDS)
        except OSError:
            return "unreachable"
        # Per-read timeouts do not stop a receiver that answers one byte at a time. The timer needs a second
        # handle on the connection, because TLS takes over the first one.
        handle, broken = raw.dup(), Event()
        guard = Timer(self._whole_seconds, _break_off, [handle, broken])
        guard.start()
        try:
            with closing(raw):
                outcome = self._exchange(raw, target, body, signed)
        finally:
            guard.cancel()
            guard.join()
            handle.close()
        return "timeout" if broken.is_set() and outcome != DELIVERED else outcome

    def _exchange(self, raw: socket.socket, target: Target, body: bytes, signed: dict[str, str]) -> str:
        connection = HTTPConnection(target.host, target.port)
        try:
            connection.sock = self._secured(raw, target)
        except OSError:
            return "tls-failed"
        headers = {
            "Host": target.host_header,
            "User-Agent": _AGENT,
            "Content-Type": "application/json",
        } | signed
        try:
            with closing(connection.sock):
                connection.request("POST", target.path, body=body, headers=headers)
                status = connection.getresponse().status
        except TimeoutError:
            return "timeout"
        except (OSError, HTTPException, ValueError):
            return "answer-broken"
        return DELIVERED if status in _SUCCESS else f"http-{status}"

    def _secured(self, raw: socket.socket, target: Target) -> socket.socket:
        if not target.is_tls:
            return raw
        context = self._tls or ssl.create_default_context()
        return context.wrap_socket(raw, server_hostname=target.host)


def _break_off(handle: socket.socket, broken: Event) -> None:
    broken.set()
    with suppress(OSError):  # it has ended already
        handle.shutdown(socket.SHUT_RDWR)
