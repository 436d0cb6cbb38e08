"""Transactions: the one place that commits.

A request or a task is one transaction: returning commits, raising rolls back. Code below the edge receives a
`Session` and never ends its transaction. Effects outside the database (sending a message to the broker) are
registered with `on_commit` and run only after the commit has succeeded.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from sqlalchemy import Dialect, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from core.db.errors import ReadOnlyTransaction, translated
from core.db.hanging import CONNECT_SECONDS, ServerWatch, WatchedConnection
from core.logs import get_logger

Hook = Callable[[], None]

_HOOKS: Final = "on_commit"
_READ_ONLY: Final = "read_only"
_DRIVER: Final = "postgresql+psycopg"
STATEMENT_SECONDS: Final = 45.0
UPKEEP_STATEMENT_SECONDS: Final = 3600.0
"""For background work: audits of long ledgers, sweeps, rotations."""
_LOCK_TIMEOUT_MS: Final = 30_000
# Ends a connection whose peer has vanished: packets are no longer acknowledged.
_TCP: Final = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_IDLE_IN_TRANSACTION_TIMEOUT_MS: Final = 120_000
_AUTOCOMMIT_CONNECTIONS: Final = 4
_FRESH_SECONDS: Final = 1.0
_RETURNED_AT: Final = "returned_at"

Result = TypeVar("Result")


def driver_url(url: str) -> URL:
    """The URL with psycopg 3 as its driver, whichever way the deployment spelled `postgresql`."""
    return make_url(url).set(drivername=_DRIVER)


class Database:
    """A pool of connections to one Postgres, and the transactions run over it."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        max_overflow: int = 10,
        pool_timeout_seconds: float = 30,
        statement_seconds: float = STATEMENT_SECONDS,
    ) -> None:
        """Prepare the pool; nothing is connected yet.

        Args:
            url: `postgresql://...`; READ COMMITTED with explicit row locks is the only isolation writers use.
            pool_size: connections kept open.
            max_overflow: further connections opened under load and closed after.
            pool_timeout_seconds: longest wait for a free connection.
            statement_seconds: longest time that one statement may run.
        """
        options = (
            f"-c timezone=UTC -c lock_timeout={_LOCK_TIMEOUT_MS}"
            f" -c idle_in_transaction_session_timeout={_IDLE_IN_TRANSACTION_TIMEOUT_MS}"
            f" -c statement_timeout={round(statement_seconds * 1000)}"
        )
        connecting = {"connect_timeout": CONNECT_SECONDS, **_TCP}
        watch = ServerWatch(statement_seconds=statement_seconds)
        self._engine = create_engine(
            driver_url(url),
            isolation_level="READ COMMITTED",
            pool_size=pool_size,
            max_overflow=max_overflow,
            pool_timeout=pool_timeout_seconds,
            hide_parameters=True,
            connect_args={**connecting, "options": options},
        )
        _watch(self._engine, watch)
        _probe_idle_connections(self._engine)
        # A separate pool: the server itself refuses writes here, and slow transactions do not hold its
        # connections.
        self._autocommit_engine = create_engine(
            driver_url(url),
            isolation_level="AUTOCOMMIT",
            pool_size=min(pool_size, _AUTOCOMMIT_CONNECTIONS),
            max_overflow=0,
            pool_timeout=pool_timeout_seconds,
            pool_reset_on_return=None,
            hide_parameters=True,
            connect_args={**connecting, "options": f"{options} -c default_transaction_read_only=on"},
        )
        _watch(self._autocommit_engine, watch)

    @property
    def engine(self) -> Engine:
        """The engine, for tools that inspect the database; transactions go through `transaction`."""
        return self._engine

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """One unit of work: commits when the block returns, rolls back when it raises.

        Hooks registered with `on_commit` run after the commit, in order, with the connection given back.

        Raises:
            DatabaseBusy: a row lock or a connection could not be had in time, or a deadlock was broken here.
            DatabaseUnavailable: the server cannot be reached or does not answer; the detail says if it is
                unknown whether the commit was made.
        """
        session = Session(self._engine, expire_on_commit=False)
        committing = False
        try:
            yield session
            committing = True
            session.commit()
        except DBAPIError as error:
            _undo(session)
            raise translated(error, committing=committing) from None
        except BaseException:
            _undo(session)
            raise
        finally:
            session.close()
        _run_hooks(session)

    @contextmanager
    def read_only(self) -> Iterator[Session]:
        """A consistent snapshot on which the server refuses writes; never committed.

        Raises:
            DatabaseUnavailable: the server cannot be reached.
        """
        session = Session(self._engine, autoflush=False, info={_READ_ONLY: True})
        try:
            session.connection(
                execution_options={"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            )
            yield session
        except DBAPIError as error:
            raise translated(error) from None
        finally:
            _undo(session)
            session.close()

    def autocommit_read(self, read: Callable[[Session], Result]) -> Result:
        """Read with single statements, each of which sees what is committed when it begins.

        For queries made many times a second: there is no BEGIN, ROLLBACK or probe of the connection, which
        together cost more than the statement. In return `read` is called again if the connection turns out to
        be dead, and two of its statements may see different moments. The server refuses writes.

        Args:
            read: runs the queries; must be safe to call twice.

        Raises:
            DatabaseBusy: no connection in time.
            DatabaseUnavailable: the server cannot be reached.
        """
        try:
            return self._autocommit_once(read)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise translated(error) from None
        try:
            return self._autocommit_once(read)
        except DBAPIError as error:
            raise translated(error) from None

    def _autocommit_once(self, read: Callable[[Session], Result]) -> Result:
        with Session(self._autocommit_engine, autoflush=False, info={_READ_ONLY: True}) as session:
            return read(session)

    def close(self) -> None:
        """Close every pooled connection."""
        self._engine.dispose()
        self._autocommit_engine.dispose()


def _watch(engine: Engine, watch: ServerWatch) -> None:
    """Give every connection bounded waits, and begin none while the server is known to hang."""

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Dialect, _record: object, arguments: Any, options: Any) -> WatchedConnection:  # noqa: ANN401 - SQLAlchemy's signature
        return watch.connect(*arguments, **options)

    @event.listens_for(engine, "checkout")
    def taken(_connection: object, _entry: object, _proxy: object) -> None:
        watch.require_answers()


def _probe_idle_connections(engine: Engine) -> None:
    """Probe each connection that is taken from the pool after idling; the pool replaces a dead one.

    SQLAlchemy's own probe (`pool_pre_ping`) costs every transaction a round trip and two switches of autocommit,
    while a whole reservation takes four round trips. A connection returned a moment ago needs no probe: a
    restarting server is away for longer than that, and requests during its absence fail either way.
    """
    dialect = engine.dialect

    @event.listens_for(engine, "checkin")
    def returned(connection: object, entry: ConnectionPoolEntry) -> None:  # noqa: ARG001 - SQLAlchemy's signature
        entry.info[_RETURNED_AT] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def taken(connection: Any, entry: ConnectionPoolEntry, proxy: PoolProxiedConnection) -> None:  # noqa: ARG001, ANN401 - likewise
        returned_at = entry.info.get(_RETURNED_AT)
        if returned_at is None or time.monotonic() - returned_at < _FRESH_SECONDS:
            return
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error


def on_commit(session: Session, hook: Hook) -> None:
    """Run `hook` once the transaction of `session` has been committed; forget it if it is rolled back.

    A hook is a hint to the outside, never part of the unit of work. If it raises, the error is logged; the
    work remains, because it is already durable.

    Raises:
        ReadOnlyTransaction: the session's transaction never commits.
    """
    if session.info.get(_READ_ONLY):
        raise ReadOnlyTransaction
    session.info.setdefault(_HOOKS, []).append(hook)


def _undo(session: Session) -> None:
    """Roll back. If the connection is already gone, the server has rolled back."""
    try:
        session.rollback()
    except DBAPIError:
        session.invalidate()


def _run_hooks(session: Session) -> None:
    for hook in session.info.pop(_HOOKS, ()):
        try:
            hook()
        except Exception as error:  # noqa: BLE001 - the work is committed: a failing hook must not look like a failure
            get_logger().error("hook-after-commit-failed", kind=type(error).__name__)
