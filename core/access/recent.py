"""Keys and sessions that were recognised a moment ago, so that polling does not ask the database each time.

The price is stated: a key revoked through another process goes on working here for at most ``RECENT_SECONDS`` after
the revocation is committed. The process that revokes forgets at once. Refusals are never kept.
"""

import threading
from collections import OrderedDict
from typing import Final
from uuid import UUID

from core.access.directory import Known
from core.clock import Clock

RECENT_SECONDS: Final = 2.0
CAPACITY: Final = 4096


class Recent:
    """A small memory from keyed digests to whom they speak for. Safe to use from several threads.

    Args:
        clock: Tells how old an entry is, and what has expired since.
        seconds: How long an entry is believed.
        capacity: How many entries are kept; the oldest go first.
    """

    def __init__(self, *, clock: Clock, seconds: float = RECENT_SECONDS, capacity: int = CAPACITY) -> None:
        self._clock = clock
        self._seconds = seconds
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, tuple[float, Known]] = OrderedDict()

    def find(self, digest: bytes) -> Known | None:
        """Who this digest spoke for a moment ago, unless that has ended since."""
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
        """Remember what the database just said."""
        with self._lock:
            self._entries[digest] = (self._clock.now().timestamp(), known)
            self._entries.move_to_end(digest)
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)

    def forget(self, key_id: UUID) -> None:
        """Believe nothing about this key, nor about sessions opened with it, without asking again."""
        with self._lock:
            stale = [
                digest for digest, (_, known) in self._entries.items() if known.principal.key_id == key_id
            ]
            for digest in stale:
                del self._entries[digest]
