import io
import os
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from core.clock import FixedClock
from core.data.objects import open_store
from core.db.session import Database
from core.jobs.queue import MemoryQueue
from core.logs import configure_logs
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import pepper_from
from core.platform.access.roles import Role
from core.platform.settings import Settings
from service.app import create_app
from tests.service.serving import Served, serving
from tests.service.world import NOON, Caller, World


@pytest.fixture(autouse=True)
def _logs_as_served() -> None:
    """The log lines of the real process, not structlog's own, which print the values of variables."""
    configure_logs(role="api")


@pytest.fixture
def log_text(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """All that this process has printed and logged so far."""
    printed = io.StringIO()
    monkeypatch.setattr("sys.stderr", printed)
    monkeypatch.setattr("sys.stdout", printed)
    configure_logs(role="api")
    return printed.getvalue


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    database = Database(settings.database_url, pool_size=4, max_overflow=20)
    yield database
    database.close()


@pytest.fixture
def world(settings: Settings, database: Database) -> Iterator[World]:
    """The API with an owner, an analyst, an admin and a stranger."""
    clock, queue, store = FixedClock(NOON), MemoryQueue(), open_store("memory://")
    app = create_app(settings, database=database, queue=queue, store=store, clock=clock)
    directory = KeyDirectory(pepper=pepper_from(settings.master_key_bytes), clock=clock, entropy=os.urandom)
    with TestClient(app) as client:
        callers = {}
        with database.transaction() as session:
            for name, role in {
                "owner": Role.OWNER, "analyst": Role.ANALYST, "admin": Role.ADMIN, "stranger": Role.OWNER,
            }.items():  # fmt: skip
                row, key = directory.issue(session, name=name, roles=[role])
                callers[name] = Caller(client, key.text, row.principal_id)
        yield World(
            app=app, client=client, database=database, queue=queue, store=store, clock=clock,
            directory=directory, **callers,
        )  # fmt: skip


@pytest.fixture
def served(world: World) -> Iterator[Served]:
    """The same API over a real socket."""
    with serving(world.app) as served:
        yield served
