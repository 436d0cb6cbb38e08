"""An answer that is costly to find and good for a moment: found once, told to everybody who asks meanwhile."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class TtlCache(Generic[Answer]):
    """Find an answer at most once per span of time, by one thread at a time.

    Args:
        find: Finds the answer.
        seconds: How long it stays good.
        monotonic: Tells elapsed seconds.
    """

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
        """The answer, no older than the span; whoever asks while it is being found waits for it."""
        with self._lock:
            if self._found is None or self._monotonic() - self._found[0] >= self._seconds:
                answer = self._find()
                self._found = (self._monotonic(), answer)
            return self._found[1]
