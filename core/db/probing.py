"""Probing pooled connections, but only those that have idled.

SQLAlchemy's own probe (`pool_pre_ping`) costs every transaction a round trip and two switches of autocommit,
while a whole reservation takes four round trips. A connection returned a moment ago needs no probe: a
restarting server is away for longer than that, and requests made meanwhile fail either way.
"""

import time
from typing import Any, Final

from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

_FRESH_SECONDS: Final = 1.0
_RETURNED_AT: Final = "returned_at"


def probe_idle_connections(engine: Engine) -> None:
    """Probe each connection that is taken from the pool after idling; the pool replaces a dead one."""
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
