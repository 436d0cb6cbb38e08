"""Caches of one process, safe for threads.

* `LruCache`: the most recently used values.
* `OpenedCache`: parts of releases; opening a generator takes far longer than sampling a few rows.
* `TtlCache`: one expensive value with a time to live.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from uuid import UUID

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Keep at most `capacity` values; the least recently used one is evicted first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    def find(self, key: Key) -> Value | None:
        """The value of a key, if it is kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: Key, value: Value) -> None:
        """Keep a value, and evict the least recently used one beyond the capacity."""
        with self._lock:
            self._kept[key] = value
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)


class OpenedCache(Generic[Value]):
    """The most recently used parts of one kind. A part is opened only once, even for concurrent callers."""

    def __init__(self, capacity: int) -> None:
        self._opened = LruCache[UUID, Value](capacity)
        self._lock = threading.Lock()
        self._opening: dict[UUID, threading.Lock] = {}

    def get(self, release_id: UUID, opener: Callable[[], Value]) -> Value:
        """The part of a release, opened by ``opener`` on a cache miss. Failures are not cached."""
        with self._lock:
            turn = self._opening.setdefault(release_id, threading.Lock())
        with turn:
            opened = self._opened.find(release_id)
            if opened is None:
                opened = opener()
                self._opened.keep(release_id, opened)
        with self._lock:
            self._opening.pop(release_id, None)
        return opened


class TtlCache(Generic[Value]):
    """Compute a value at most once per time to live, in one thread at a time."""

    def __init__(
        self,
        find: Callable[[], Value],
        *,
        seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._find = find
        self._seconds = seconds
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._found: tuple[float, Value] | None = None

    def __call__(self) -> Value:
        """The value, no older than its time to live. Callers wait while it is being computed."""
        with self._lock:
            if self._found is None or self._monotonic() - self._found[0] >= self._seconds:
                answer = self._find()
                self._found = (self._monotonic(), answer)
            return self._found[1]
