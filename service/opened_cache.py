"""LRU cache of opened release parts: opening a generator takes far longer than sampling a few rows."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar
from uuid import UUID

Opened = TypeVar("Opened")


class OpenedCache(Generic[Opened]):
    """The most recently used parts of one kind. A part is opened only once, even for concurrent callers.

    Args:
        capacity: Number of parts kept.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._opened: OrderedDict[UUID, Opened] = OrderedDict()
        self._opening: dict[UUID, threading.Lock] = {}

    def get(self, release_id: UUID, opener: Callable[[], Opened]) -> Opened:
        """The part of a release, opened by ``opener`` on a cache miss. Failures are not cached."""
        with self._lock:
            turn = self._opening.setdefault(release_id, threading.Lock())
        with turn:
            opened = self._kept(release_id)
            if opened is None:
                opened = opener()
                self._keep(release_id, opened)
        with self._lock:
            self._opening.pop(release_id, None)
        return opened

    def _kept(self, release_id: UUID) -> Opened | None:
        with self._lock:
            if release_id in self._opened:
                self._opened.move_to_end(release_id)
            return self._opened.get(release_id)

    def _keep(self, release_id: UUID, opened: Opened) -> None:
        with self._lock:
            self._opened[release_id] = opened
            while len(self._opened) > self._capacity:
                self._opened.popitem(last=False)
