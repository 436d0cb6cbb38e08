"""A cache of the most recently used values, safe for threads."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

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
