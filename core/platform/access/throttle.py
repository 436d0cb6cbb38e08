"""Throttling of failed logins, per source address and per key prefix.

The counts live in Postgres: several processes serve the API, and each failure must count in all of them. An
attempt is counted as a failure before the key is checked, under row locks, and the count is given back on
success. Concurrent attempts therefore get no more tries than sequential ones.

The first ``FREE_FAILURES`` cost nothing; each further one doubles the wait. A prefix is public, so anybody
who knows it could lock its owner out: its wait is capped at a minute, an address's at a quarter of an hour.
Bearer keys are not throttled: 256 random bits cannot be guessed, and a client with a wrong key must not lock
out others behind its address.
"""

import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from sqlalchemy.orm import Session

from core.clock import Clock
from core.platform.access import repository
from core.platform.access.errors import LoginThrottled
from core.platform.access.keys import subkey_of

FREE_FAILURES: Final = 5
FORGOTTEN_AFTER: Final = timedelta(hours=1)
DELETED_AFTER: Final = timedelta(days=1)
# An IPv6 customer is assigned at least this prefix and can use any address in it.
IPV6_PREFIX: Final = 64
LONGEST_DOUBLING: Final = 30


@dataclass(frozen=True, slots=True)
class Subject:
    """A source of failures.

    Args:
        longest: Cap on its wait.
        forgiven: Whether one success clears all its failures.
    """

    digest: bytes
    longest: timedelta
    forgiven: bool = False


class LoginThrottle:
    """Count attempts inside the caller's transaction, which must be committed before the key is checked.

    Args:
        pepper: The key of the API keys' digests; the key for sources is derived from it.
    """

    def __init__(self, *, pepper: bytes, clock: Clock) -> None:
        self._key = subkey_of(pepper, b"login-throttle")
        self._clock = clock

    def subjects(self, *, address: str, prefix: str | None) -> tuple[Subject, ...]:
        """The sources that an attempt counts for, in lock order.

        Args:
            prefix: The public digits of the key; None if it is malformed.
        """
        by_address = Subject(self._digest("address", network_of(address)), timedelta(minutes=15))
        if prefix is None:
            return (by_address,)
        return by_address, Subject(self._digest("prefix", prefix), timedelta(minutes=1), forgiven=True)

    def begin(self, session: Session, subjects: Sequence[Subject]) -> None:
        """Count an attempt as a failure.

        Raises:
            LoginThrottled: One of the sources must wait; nothing is counted.
        """
        now = self._clock.now()
        rows = [repository.throttle_for_update(session, subject.digest, at=now) for subject in subjects]
        waits = [row.opens_at - now for row in rows if row.opens_at is not None and row.opens_at > now]
        if waits:
            raise LoginThrottled(retry_after_seconds=ceil(max(waits).total_seconds()))
        for subject, row in zip(subjects, rows, strict=True):
            row.failures = 1 if now - row.failed_at >= FORGOTTEN_AFTER else row.failures + 1
            row.failed_at = now
            row.opens_at = _opens_at(row.failures, now, subject.longest)
        session.flush()
        # Last, because it waits for no lock: the locks it takes cannot be part of a deadlock.
        repository.forget_throttles(session, failed_before=now - DELETED_AFTER)

    def succeed(self, session: Session, subjects: Sequence[Subject]) -> None:
        """Undo what ``begin`` counted after a successful login.

        A success clears the failures of its key but not those of its address. Otherwise somebody with one
        valid key could guess others without ever waiting.
        """
        now = self._clock.now()
        for subject in subjects:
            row = repository.throttle_for_update(session, subject.digest, at=now)
            row.failures = 0 if subject.forgiven else max(row.failures - 1, 0)
            row.opens_at = None
        session.flush()

    def _digest(self, kind: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{kind}:{text}".encode("utf-8", "surrogateescape"), "sha256")


def network_of(address: str) -> str:
    """The network that counts as one source; text that is not an address is returned unchanged."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 6:  # noqa: PLR2004 - the number is the name of the protocol
        mapped = parsed.ipv4_mapped
        return str(mapped or ipaddress.ip_network(f"{parsed.exploded}/{IPV6_PREFIX}", strict=False))
    return str(parsed)


def _opens_at(failures: int, now: datetime, longest: timedelta) -> datetime | None:
    if failures < FREE_FAILURES:
        return None
    doublings = min(failures - FREE_FAILURES, LONGEST_DOUBLING)
    return now + min(timedelta(seconds=2**doublings), longest)
