import io
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from core.data.objects import open_store
from core.db.session import Database
from core.logs import configure_logs
from core.platform.settings import Settings
from tests.conftest import checked_settings, connected, copy_database, fresh_database
from tests.service.serving import Served, serving
from tests.service.world import Keys, World, enrol_callers, open_world
from understudy.embedded.postgres import PostgresServer


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


@pytest.fixture(scope="session")
def peopled_template(postgres_server: PostgresServer, migrated_template: str) -> tuple[str, Keys]:
    """A database with the callers of a world, to enrol whom takes a third of the making of one, and their keys."""
    return _peopled(postgres_server, migrated_template)


@cache
def _peopled(server: PostgresServer, template: str) -> tuple[str, Keys]:
    """Once in a process: pytest takes the fixture for another one in every folder that imports it."""
    name = f"{template}_peopled"
    copy_database(server, template, name)
    database = Database(server.url(name))
    keys = enrol_callers(checked_settings(), database)
    database.close()
    return name, keys


@pytest.fixture
def database_url(
    request: pytest.FixtureRequest, postgres_server: PostgresServer, migrated_template: str
) -> Iterator[str]:
    """A fresh database at the newest migration; a world's has its callers."""
    is_peopled = "world" in request.fixturenames
    template = request.getfixturevalue("peopled_template")[0] if is_peopled else migrated_template
    with fresh_database(postgres_server, template) as url:
        yield url


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with connected(settings.database_url, pool_size=4, max_overflow=20) as database:
        yield database


@pytest.fixture
def world(settings: Settings, database: Database, peopled_template: tuple[str, Keys]) -> Iterator[World]:
    with open_world(settings, database, open_store("memory://"), keys=peopled_template[1]) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_world(
    postgres_server: PostgresServer,
    migrated_template: str,
    peopled_template: tuple[str, Keys],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """A world of a whole module, for tests that none of the others disturbs. A world of its own costs a test 150 ms."""
    template, keys = peopled_template
    with (
        fresh_database(postgres_server, template) as url,
        connected(url, pool_size=4, max_overflow=20) as database,
    ):
        settings = checked_settings().model_copy(
            update={"database_url": url, "scratch_folder": tmp_path_factory.mktemp("scratch")}
        )
        with open_world(settings, database, open_store("memory://"), keys=keys) as opened:
            yield opened


@pytest.fixture
def served(world: World) -> Iterator[Served]:
    """The same API over a real socket."""
    with serving(world.app) as served:
        yield served
