"""A door that lets a few in at a time and turns the rest away, instead of letting them queue for threads."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from core.errors import TooManyRequests, Unavailable

SHARE_RETRY_SECONDS: Final = 2


class ServiceBusy(Unavailable):
    """As many requests of this kind are being served as the service takes at once."""

    code = "service-busy"

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"The service is serving as many {what} as it takes at once.", remedy="Try again in a moment."
        )


class ShareUsedUp(TooManyRequests):
    """One principal has as many requests of this kind under way as one may; the others' places stay free."""

    code = "share-used-up"
    title = "Your share is in use"

    def __init__(self, *, what: str, share: int) -> None:
        super().__init__(
            f"You have {share} {what} under way, which is as many as one principal may have at once.",
            remedy="Wait until one of them has ended, or end one.",
            retry_after_seconds=SHARE_RETRY_SECONDS,
        )


class Gate:
    """At most ``places`` holders at a time, and at most ``share`` of them one principal's.

    Args:
        places: How many.
        what: The plural of what passes, for the message.
        patience_seconds: How long to wait for a place before turning the caller away.
        share: How many places one principal may hold; None where there is no such limit.
    """

    def __init__(
        self, places: int, *, what: str, patience_seconds: float = 0.0, share: int | None = None
    ) -> None:
        self._places = threading.BoundedSemaphore(places)
        self._what = what
        self._patience_seconds = patience_seconds
        self._share = share
        self._lock = threading.Lock()
        self._held: Counter[UUID] = Counter()

    @contextmanager
    def pass_through(self, who: UUID | None = None) -> Iterator[None]:
        """Hold a place for the length of the block.

        Args:
            who: The principal, where they have shares.

        Raises:
            ServiceBusy: No place became free in time.
            ShareUsedUp: The principal holds as many as one may.
        """
        self.enter(who)
        try:
            yield
        finally:
            self.leave(who)

    def enter(self, who: UUID | None = None) -> None:
        """Take a place; ``leave`` must follow.

        Raises:
            ServiceBusy: No place became free in time.
            ShareUsedUp: The principal holds as many as one may.
        """
        if who is not None:
            self._take_share(who)
        waits = self._patience_seconds > 0
        if not self._places.acquire(blocking=waits, timeout=self._patience_seconds if waits else None):
            self._give_share_back(who)
            raise ServiceBusy(what=self._what)

    def leave(self, who: UUID | None = None) -> None:
        """Give the place back."""
        self._give_share_back(who)
        self._places.release()

    def _take_share(self, who: UUID) -> None:
        with self._lock:
            if self._share is not None and self._held[who] >= self._share:
                raise ShareUsedUp(what=self._what, share=self._share)
            self._held[who] += 1

    def _give_share_back(self, who: UUID | None) -> None:
        with self._lock:
            if who is not None and self._held[who] > 1:
                self._held[who] -= 1
            elif who is not None:
                self._held.pop(who, None)
