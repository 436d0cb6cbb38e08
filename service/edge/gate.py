"""A door that lets a few in at a time and turns the rest away, instead of letting them queue for threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import Unavailable


class ServiceBusy(Unavailable):
    """As many requests of this kind are being served as the service takes at once."""

    code = "service-busy"

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"The service is serving as many {what} as it takes at once.", remedy="Try again in a moment."
        )


class Gate:
    """At most ``places`` holders at a time.

    Args:
        places: How many.
        what: The plural of what passes, for the message.
        patience_seconds: How long to wait for a place before turning the caller away.
    """

    def __init__(self, places: int, *, what: str, patience_seconds: float = 0.0) -> None:
        self._places = threading.BoundedSemaphore(places)
        self._what = what
        self._patience_seconds = patience_seconds

    @contextmanager
    def pass_through(self) -> Iterator[None]:
        """Hold a place for the length of the block.

        Raises:
            ServiceBusy: No place became free in time.
        """
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Take a place; ``leave`` must follow.

        Raises:
            ServiceBusy: No place became free in time.
        """
        waits = self._patience_seconds > 0
        if not self._places.acquire(blocking=waits, timeout=self._patience_seconds if waits else None):
            raise ServiceBusy(what=self._what)

    def leave(self) -> None:
        """Give the place back."""
        self._places.release()
