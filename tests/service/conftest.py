import io
from collections.abc import Callable, Iterator

import pytest

from core.data.objects import open_store
from core.db.session import Database
from core.logs import configure_logs
from core.platform.settings import Settings
from tests.service.serving import Served, serving
from tests.service.world import World, open_world


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
    with open_world(settings, database, open_store("memory://")) as opened:
        yield opened


@pytest.fixture
def served(world: World) -> Iterator[Served]:
    """The same API over a real socket."""
    with serving(world.app) as served:
        yield served
