"""Bounded waits for a Postgres server that hangs.

A hanging server keeps its sockets open and its kernel acknowledges what is sent. Neither TCP timeouts nor the
server's own end the wait, and libpq waits for ever. A statement that has waited for `PATIENCE_SECONDS`, while
no connection of the process got an answer, therefore opens a new connection. If that fails within
`CONNECT_SECONDS`, the server hangs: the connections of all waiting statements are closed, and for
`REFUSED_SECONDS` no new wait begins. A statement that waits for a lock goes on, because the new connection
succeeds.
"""

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen

from core.db.errors import DatabaseUnavailable
from core.logs import get_logger

PATIENCE_SECONDS: Final = 2.0
CONNECT_SECONDS: Final = 4
REFUSED_SECONDS: Final = 2.0
# Added to the server's own limit, which ends a statement with a better message.
_LATER_THAN_THE_SERVER_SECONDS: Final = 5.0

Result = TypeVar("Result")


class ServerHangs(psycopg.OperationalError):
    """The server accepts data but answers no connection."""


class ServerWatch:
    """Shared knowledge of a pool's connections about their server.

    Args:
        statement_seconds: How long the server lets a statement run.
    """

    def __init__(self, *, statement_seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._longest = statement_seconds + _LATER_THAN_THE_SERVER_SECONDS
        self._monotonic = monotonic
        self._answered_at = monotonic()
        self._hung_at: float | None = None
        self._one_asks = threading.Lock()

    def connect(self, *arguments: Any, **options: Any) -> "WatchedConnection":  # noqa: ANN401 - the driver's own
        """Open a connection with bounded waits.

        Raises:
            DatabaseUnavailable: The server hung a moment ago.
            psycopg.OperationalError: It does not answer, or refuses.
        """
        self.require_answers()
        began = self._monotonic()
        connection: WatchedConnection | None
        try:
            connection = WatchedConnection.connect(*arguments, **options)
        except psycopg.errors.ConnectionTimeout as error:
            # Its frames keep the half-open connection alive, which occupies a slot on the server.
            traceback.clear_frames(error.__traceback__)
            connection = None
        except psycopg.OperationalError:
            # A server that refuses has answered, and one that has stopped closes its connections.
            self.answered()
            raise
        if connection is None:
            self._note_silence(since=began)
            raise psycopg.errors.ConnectionTimeout
        self.answered()
        connection.watch, connection.ask = self, lambda: self.connect(*arguments, **options).close()
        return connection

    def require_answers(self) -> None:
        """Refuse to wait for a server that hung a moment ago.

        Raises:
            DatabaseUnavailable: It did.
        """
        if self._hung_at is not None and self._monotonic() - self._hung_at < REFUSED_SECONDS:
            raise DatabaseUnavailable("The database does not answer.", remedy="Try again in a moment.")

    def answered(self) -> None:
        """Record that a connection was answered."""
        self._answered_at = self._monotonic()

    def now(self) -> float:
        """The present moment on the watch's clock."""
        return self._monotonic()

    def probe(self, *, since: float, ask: Callable[[], None]) -> None:
        """Judge a wait, a few times a second; probe the server if no connection has been answered since.

        Args:
            since: When the wait began.
            ask: Opens a new connection and closes it.

        Raises:
            ServerHangs: The server hangs; the wait must end.
        """
        now = self._monotonic()
        if now - since > self._longest or (self._hung_at is not None and self._hung_at > since):
            raise ServerHangs
        if now - max(since, self._answered_at) < PATIENCE_SECONDS or not self._one_asks.acquire(
            blocking=False
        ):
            return
        try:
            ask()
        except (psycopg.Error, DatabaseUnavailable):
            return  # The next probe knows more.
        finally:
            self._one_asks.release()

    def _note_silence(self, *, since: float) -> None:
        if self._answered_at < since:
            self._hung_at = self._monotonic()
            get_logger().warning("database-hangs")


class WatchedConnection(psycopg.Connection[Any]):
    """A connection whose waits end if its server hangs.

    Attributes:
        watch: Shared knowledge about the server; None while connecting, which has its own timeout.
        ask: Opens another connection to the same server and closes it.
    """

    watch: ServerWatch | None = None
    ask: Callable[[], None]

    def wait(self, gen: PQGen[Result], *arguments: Any, **options: Any) -> Result:  # noqa: ANN401 - the driver's own
        """Wait for an answer.

        Raises:
            ServerHangs: The server hangs. The connection is closed.
        """
        if self.watch is None:
            return super().wait(gen, *arguments, **options)
        try:
            answer = super().wait(self._watched(gen, self.watch), *arguments, **options)
        except ServerHangs:
            self.close()
            raise
        self.watch.answered()
        return answer

    def _watched(self, gen: PQGen[Result], watch: ServerWatch) -> PQGen[Result]:
        """The same protocol exchange, judged whenever the driver wakes up without an answer."""
        since = watch.now()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready:
                    watch.probe(since=since, ask=self.ask)
                state = gen.send(ready)
        except StopIteration as end:
            result: Result = end.value
            return result
