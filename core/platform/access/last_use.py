"""Last-use times of keys and sessions, written at most once a minute each instead of on every request."""

import threading
from datetime import timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.clock import Clock
from core.db.session import Database
from core.errors import UnderstudyError
from core.logs import get_logger
from core.platform.access import repository
from core.platform.access.directory import Known

NOTED_EVERY: Final = timedelta(minutes=1)
REMEMBERED: Final = 16_384


class LastUse:
    """Record uses in transactions of their own.

    Each process writes a key's time at most once a minute. When several processes try, the first wins and the
    others skip.
    """

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._noted: dict[UUID, float] = {}

    def note(self, known: Known) -> None:
        """Record a use now. A database failure here is ignored: it is no reason to refuse the request."""
        if not self.is_due(known):
            return
        now = self._clock.now()
        with self._lock:
            if len(self._noted) >= REMEMBERED:
                self._noted.clear()
            self._noted[_thing(known)] = now.timestamp()
        before = now - NOTED_EVERY
        try:
            with self._database.transaction() as session:
                # Losing this in a crash costs a minute of accuracy, which is not worth an fsync.
                session.execute(text("SET LOCAL synchronous_commit = off"))
                repository.note_use_of_key(session, known.principal.key_id, at=now, before=before)
                if known.session_id is not None:
                    repository.note_use_of_session(session, known.session_id, at=now, before=before)
        except (UnderstudyError, PoolTimeout) as error:
            get_logger().warning("last-use-not-noted", kind=type(error).__name__)

    def is_due(self, known: Known) -> bool:
        """Whether the next use has to be recorded."""
        noted = self._noted.get(_thing(known), float("-inf"))
        return self._clock.now().timestamp() - noted >= NOTED_EVERY.total_seconds()


def _thing(known: Known) -> UUID:
    return known.session_id or known.principal.key_id
