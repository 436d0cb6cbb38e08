"""A cache of recently authenticated keys and sessions, to spare the database a query per poll.

The cost: a key revoked through another process keeps working here for at most ``RECENT_SECONDS`` after the
revocation is committed. The revoking process drops it at once. Refusals are never cached.
"""

import threading
from collections import OrderedDict
from typing import Final
from uuid import UUID

from core.clock import Clock
from core.platform.access.directory import Known

RECENT_SECONDS: Final = 2.0
CAPACITY: Final = 4096


class Recent:
    """A thread-safe cache from keyed digests to whom they authenticate.

    Args:
        capacity: Maximum number of entries; the oldest are evicted first.
    """

    def __init__(self, *, clock: Clock, seconds: float = RECENT_SECONDS, capacity: int = CAPACITY) -> None:
        self._clock = clock
        self._seconds = seconds
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, tuple[float, Known]] = OrderedDict()

    def find(self, digest: bytes) -> Known | None:
        """Whom this digest authenticates, unless the entry is stale or its key has expired."""
        with self._lock:
            entry = self._entries.get(digest)
        if entry is None:
            return None
        at, known = entry
        now = self._clock.now()
        # A clock that was set back must not prolong anything.
        fresh = 0 <= now.timestamp() - at < self._seconds
        alive = known.expires_at is None or known.expires_at > now
        return known if fresh and alive else None

    def keep(self, digest: bytes, known: Known) -> None:
        """Cache an answer of the database."""
        with self._lock:
            self._entries[digest] = (self._clock.now().timestamp(), known)
            self._entries.move_to_end(digest)
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)

    def forget(self, key_id: UUID) -> None:
        """Drop this key and the sessions opened with it."""
        with self._lock:
            stale = [
                digest for digest, (_, known) in self._entries.items() if known.principal.key_id == key_id
            ]
            for digest in stale:
                del self._entries[digest]
