"""Concurrency limits: refuse a request at once when too many of its kind run, instead of queueing it for a thread."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from core.errors import TooManyRequests, Unavailable

SHARE_RETRY_SECONDS: Final = 2


class ServiceBusy(Unavailable):
    """Too many requests of this kind are running."""

    code = "service-busy"

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"The service is at its limit of concurrent {what}.", remedy="Try again in a moment."
        )


class ShareUsedUp(TooManyRequests):
    """One principal runs as many requests of this kind as allowed. The slots of others stay free."""

    code = "share-used-up"
    title = "Concurrency limit reached"

    def __init__(self, *, what: str, share: int) -> None:
        super().__init__(
            f"You have {share} concurrent {what}, the limit for one principal.",
            remedy="Wait until one of them ends, or end one yourself.",
            retry_after_seconds=SHARE_RETRY_SECONDS,
        )


class ConcurrencyLimit:
    """A semaphore over requests of one kind, with a share for each principal.

    Args:
        what: The plural of what is limited, for error messages.
        patience_seconds: How long to wait for a slot before the request is refused.
        share: How many slots one principal may hold; None for no such limit.
    """

    def __init__(
        self, limit: int, *, what: str, patience_seconds: float = 0.0, share: int | None = None
    ) -> None:
        self._limit = limit
        self._what = what
        self._patience_seconds = patience_seconds
        self._share = share
        self._changed = threading.Condition()
        self._in_use = 0
        self._held: Counter[UUID] = Counter()

    @property
    def free(self) -> int:
        """How many slots are free now."""
        return self._limit - self._in_use

    @contextmanager
    def hold(self, principal_id: UUID | None = None) -> Iterator[None]:
        """Hold a slot for the length of the block.

        Raises:
            ServiceBusy: No slot became free in time.
            ShareUsedUp: The principal holds as many as one may.
        """
        self.acquire(principal_id)
        try:
            yield
        finally:
            self.release(principal_id)

    def acquire(self, principal_id: UUID | None = None) -> None:
        """Take a slot, for a principal where shares count; `release` must follow.

        Raises:
            ServiceBusy: No slot became free in time.
            ShareUsedUp: The principal holds as many as one may.
        """
        with self._changed:
            if (
                principal_id is not None
                and self._share is not None
                and self._held[principal_id] >= self._share
            ):
                raise ShareUsedUp(what=self._what, share=self._share)
            # Counted before the wait, so that waiting requests count towards the share as well.
            if principal_id is not None:
                self._held[principal_id] += 1
            if not self._changed.wait_for(lambda: self.free > 0, timeout=self._patience_seconds):
                self._give_share_back(principal_id)
                raise ServiceBusy(what=self._what)
            self._in_use += 1

    def release(self, principal_id: UUID | None = None) -> None:
        """Give the slot back.

        Raises:
            ValueError: No slot is held.
        """
        with self._changed:
            if self._in_use == 0:
                raise ValueError("released more often than acquired")
            self._in_use -= 1
            self._give_share_back(principal_id)
            self._changed.notify()

    def _give_share_back(self, principal_id: UUID | None) -> None:
        if principal_id is not None:
            self._held[principal_id] -= 1
            if self._held[principal_id] <= 0:
                del self._held[principal_id]
