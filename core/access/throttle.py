"""Logins that fail cost time: per source address, and per prefix of a key.

The counts live in Postgres, because several processes serve the API and each failure must count in all of them. An
attempt is counted as a failure before the key is looked at, under the lock of its rows, and the count is given back
when it succeeds: a crowd that arrives at once gets no more tries than one that comes in turn.

The first ``FREE_FAILURES`` cost nothing; each further one doubles the wait. A prefix is public, so whoever knows it
could keep its owner out of the login: its wait is capped at a minute, an address's at a quarter of an hour. Bearer
keys are not throttled: 256 random bits cannot be guessed, and a client with a wrong key must not shut out others
behind its address.
"""

import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from sqlalchemy.orm import Session

from core.access import repository
from core.access.errors import LoginThrottled
from core.access.keys import subkey_of
from core.clock import Clock

FREE_FAILURES: Final = 5
FORGOTTEN_AFTER: Final = timedelta(hours=1)
DELETED_AFTER: Final = timedelta(days=1)
# An IPv6 customer owns at least this much, and can come from anywhere in it.
IPV6_PREFIX: Final = 64
LONGEST_DOUBLING: Final = 30


@dataclass(frozen=True, slots=True)
class Subject:
    """A source of failures.

    Args:
        digest: The keyed digest that stands for it.
        longest: The longest wait it can be made to.
        forgiven: Whether one success clears all its failures.
    """

    digest: bytes
    longest: timedelta
    forgiven: bool = False


class LoginThrottle:
    """Counts attempts inside the caller's transaction, which must be committed before the key is looked at.

    Args:
        pepper: The key of the digests of API keys; sources have a key of their own below it.
        clock: Tells when a source may try again.
    """

    def __init__(self, *, pepper: bytes, clock: Clock) -> None:
        self._key = subkey_of(pepper, b"login-throttle")
        self._clock = clock

    def subjects(self, *, address: str, prefix: str | None) -> tuple[Subject, ...]:
        """The sources that an attempt counts for, in the order in which their rows are locked.

        Args:
            address: Where the request came from.
            prefix: The public digits of the key; None where it has no form of one.
        """
        by_address = Subject(self._digest("address", network_of(address)), timedelta(minutes=15))
        if prefix is None:
            return (by_address,)
        return by_address, Subject(self._digest("prefix", prefix), timedelta(minutes=1), forgiven=True)

    def begin(self, session: Session, subjects: Sequence[Subject]) -> None:
        """Count an attempt as a failure.

        Raises:
            LoginThrottled: One of the sources has to wait; nothing is counted.
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
        # Last, because it waits for no lock: what it locks can then be part of no deadlock.
        repository.forget_throttles(session, failed_before=now - DELETED_AFTER)

    def succeed(self, session: Session, subjects: Sequence[Subject]) -> None:
        """Give back what ``begin`` counted: the attempt was no failure.

        A success clears the failures for its key. It does not clear those from its address: else somebody with one
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
    """The network that counts as one source; whatever is no address stands for itself."""
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
