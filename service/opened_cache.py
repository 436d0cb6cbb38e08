"""Cache of opened release parts: opening a generator takes far longer than sampling a few rows."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar
from uuid import UUID

from service.lru_cache import LruCache

Opened = TypeVar("Opened")


class OpenedCache(Generic[Opened]):
    """The most recently used parts of one kind. A part is opened only once, even for concurrent callers."""

    def __init__(self, capacity: int) -> None:
        self._opened = LruCache[UUID, Opened](capacity)
        self._lock = threading.Lock()
        self._opening: dict[UUID, threading.Lock] = {}

    def get(self, release_id: UUID, opener: Callable[[], Opened]) -> Opened:
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
