"""A cache for one expensive value with a time to live, computed by one thread at a time."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class TtlCache(Generic[Answer]):
    """Compute a value at most once per time to live, in one thread at a time."""

    def __init__(
        self,
        find: Callable[[], Answer],
        *,
        seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._find = find
        self._seconds = seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._found: tuple[float, Answer] | None = None

    def __call__(self) -> Answer:
        """The value, no older than its time to live. Callers wait while it is being computed."""
        with self._lock:
            if self._found is None or self._monotonic() - self._found[0] >= self._seconds:
                answer = self._find()
                self._found = (self._monotonic(), answer)
            return self._found[1]
