"""The ASGI entry point: ``uvicorn service.asgi:app``. Reads the settings from the environment."""

import sys
import time
from contextlib import closing
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from core import startup
from core.clock import SystemClock
from core.crashes import leave_no_core
from core.db.errors import DatabaseUnavailable
from core.db.session import Database
from core.logs import configure_logs, get_logger
from core.platform.access.pepper import kept_pepper
from core.platform.settings import Settings, read_settings
from core.platform.witness.ledger_witness import compare_at_start
from service.app import create_app

PATIENCE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.5


def pepper_of(settings: Settings) -> bytes:
    """The pepper of API key digests; waits for a database that is starting up.

    Raises:
        DatabaseUnavailable: No answer for one minute.
        SealBroken: The pepper is sealed under another master key.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    with closing(Database(settings.database_url, pool_size=1, max_overflow=0)) as database:
        while True:
            try:
                with database.transaction() as session:
                    return kept_pepper(session, master_keys=settings.master_keys, clock=SystemClock())
            except DatabaseUnavailable:
                if time.monotonic() > end:
                    raise
                get_logger().warning("database-awaited")
                time.sleep(_PAUSE_SECONDS)


startup.imported()
leave_no_core()
configure_logs(role="api")
try:
    settings = read_settings()
except ValueError as refusal:
    # The message names settings, never values; a traceback would only hide it.
    sys.exit(f"understudy: {refusal}")


class Served:
    """The application, built at server startup, so that importing this module queries no database."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; the first call is the server's lifespan startup."""
        if self._app is None:
            made = create_app(self._settings, pepper=pepper_of(self._settings))
            # Before the first order: a database restored from a backup may lack spent budget.
            compare_at_start(made.state.context.witness)
            self._app = made
        await self._app(scope, receive, send)


app = Served(settings)
