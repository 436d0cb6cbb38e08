"""Real servers for every test: one Postgres and one redis per test process, one fresh database per test."""

import gc
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import hypothesis
import psycopg
import pytest
from psycopg import sql
from xdist.remote import Producer

from core.db.session import Database
from core.platform.settings import Settings
from tests.distribution import Together, longest_first
from tests.in_memory import in_memory
from tests.interruption import end_what_is_left, end_with_parent
from tests.isolation.failures import Failures
from tests.shared_rewriting import import_own_part
from understudy.embedded.leftovers import socket_folder
from understudy.embedded.postgres import PostgresServer
from understudy.embedded.redis import RedisServer

# Products in the tests' own processes are rounded as in a training child (`workers.child`), whatever the processor.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
# Threads of torch that wait for each other sleep, as a child's do: those that spin take the processors of the other tests.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

TEMPLATE = "understudy_template"
_IN_USE: set[str] = set()
"""Names of databases that tests have now."""
# A busy machine is slow now and then; how long an example takes proves nothing here.
hypothesis.settings.register_profile("understudy", deadline=None)
hypothesis.settings.load_profile("understudy")

REAL_DATA_REQUIRED = "UNDERSTUDY_REAL_DATA_REQUIRED"
REAL_DATA_ABSENT = "no real tables"
MASTER_KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f00123456789abcdeffedcba9876543210"


def pytest_configure(config: pytest.Config) -> None:
    """Watch the process that started this run; keep failures apart."""
    # Nothing that is imported becomes garbage, and looking for it takes two fifths of the collection.
    gc.disable()
    end_with_parent()
    config.pluginmanager.register(Failures())


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import another part of the modules first than the other processes."""
    import_own_part(session.config)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later collection of garbage; see `pytest_configure`."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Leave nothing behind."""
    end_what_is_left()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    longest_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together:
    """Give every process the tests that share something."""
    config.option.loadscopereorder = False
    return Together(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line which tests had no real data, and how to have it."""
    lacking = [
        report
        for report in terminalreporter.getreports("skipped")
        if REAL_DATA_ABSENT in str(report.longrepr)
    ]
    if lacking:
        terminalreporter.write_line(
            f"{len(lacking)} tests were skipped for want of real data: put the public tables that docs/real-data.md"
            " lists into a folder and set UNDERSTUDY_DATA to it"
        )


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings, keys or data folder of the person who runs it."""
    for name in list(os.environ):
        if name.startswith("UNDERSTUDY_") and name not in {"UNDERSTUDY_DATA", REAL_DATA_REQUIRED}:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of this test process's servers; in memory where there is room, which halves what a fresh database costs."""
    with in_memory() as folder:
        yield folder or tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="session")
def postgres_server(server_folder: Path) -> Iterator[PostgresServer]:
    """A real Postgres 18 of this test process."""
    server = PostgresServer(
        server_folder / "postgres",
        run_folder=socket_folder(server_folder),
        log=server_folder / "postgres.log",
        durable=False,
    )
    server.start()
    _cheapen_sign_in(server)
    yield server
    _administration(server.url("postgres")).close()
    server.stop()


@pytest.fixture(scope="session")
def redis_server(server_folder: Path) -> Iterator[RedisServer]:
    """A real redis of this test process."""
    server = RedisServer(
        server_folder / "redis", run_folder=socket_folder(server_folder), log=server_folder / "redis.log"
    )
    server.start()
    yield server
    server.stop()


def _cheapen_sign_in(server: PostgresServer) -> None:
    """Store the password under one round of hashing: 4,096 of them cost each of thousands of connections 3 ms of a processor."""
    administration = _administration(server.url("postgres"))
    administration.execute("SET scram_iterations = 1")
    administration.execute(
        sql.SQL("ALTER ROLE CURRENT_USER PASSWORD {}").format(sql.Literal(server.password))
    )


def execute(server: PostgresServer, command: sql.Composed) -> None:
    """Run one statement outside a transaction, as CREATE DATABASE demands."""
    _administration(server.url("postgres")).execute(command)


@cache
def _administration(url: str) -> psycopg.Connection:
    """The connection to a server that makes its databases. A new one each time would cost more than a database does."""
    return psycopg.connect(url.replace("postgresql+psycopg", "postgresql"), autocommit=True)


@pytest.fixture(scope="session")
def migrated_template(postgres_server: PostgresServer) -> str:
    """The name of a database that the migrations have built."""
    execute(postgres_server, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
    upgrade(postgres_server.url(TEMPLATE))
    # The first connection writes what every later one, and each of a copy, needs of the catalogue.
    psycopg.connect(postgres_server.url(TEMPLATE).replace("postgresql+psycopg", "postgresql")).close()
    return TEMPLATE


def upgrade(database_url: str) -> None:
    """Run the migrations as an operator would."""
    environment = os.environ | {
        "UNDERSTUDY_DATABASE_URL": database_url,
        "UNDERSTUDY_BROKER_URL": "memory://",
        "UNDERSTUDY_STORAGE_URL": "memory://",
        "UNDERSTUDY_SCRATCH_FOLDER": "/tmp",
        "UNDERSTUDY_MASTER_KEY": MASTER_KEY,
    }
    finished = subprocess.run(
        [sys.executable, "-m", "migrations.upgrade"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[1],
    )
    assert finished.returncode == 0, finished.stderr


@pytest.fixture
def database_url(postgres_server: PostgresServer, migrated_template: str) -> Iterator[str]:
    """A fresh database at the newest migration, gone after the test."""
    with fresh_database(postgres_server, migrated_template) as url:
        yield url


@contextmanager
def fresh_database(server: PostgresServer, template: str) -> Iterator[str]:
    """The address of a copy of a database, which is dropped afterwards. A later copy of the template has the same."""
    name = next(name for number in itertools.count() if (name := f"{template}_{number}") not in _IN_USE)
    _IN_USE.add(name)
    copy_database(server, template, name)
    yield server.url(name)
    execute(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    _IN_USE.remove(name)


@contextmanager
def connected(url: str, **pool: int) -> Iterator[Database]:
    """Connections to a database.

    What SQLAlchemy has compiled for a database is kept for later ones with the same address, which takes 18 % off the processor
    seconds of 81 tests of the API.
    """
    database = _database_at(url, **pool)
    yield database
    database.close()


@cache
def _database_at(url: str, **pool: int) -> Database:
    return Database(url, **pool)


def copy_database(server: PostgresServer, template: str, name: str) -> None:
    """Copy a database that nobody is connected to."""
    execute(
        server,
        # Copying files asks for a checkpoint, which costs nothing here: this server never waits for a disk.
        sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
            sql.Identifier(name), sql.Identifier(template)
        ),
    )


@pytest.fixture
def broker_url(redis_server: RedisServer) -> str:
    """The queue of this test process in kombu's form, emptied."""
    redis_server.flush()
    return redis_server.broker_url


@pytest.fixture
def settings(database_url: str, broker_url: str, tmp_path: Path) -> Settings:
    """Settings of a server role over the test's own database, queue and folders."""
    storage, scratch = tmp_path / "objects", tmp_path / "scratch"
    storage.mkdir()
    scratch.mkdir()
    return checked_settings().model_copy(
        update={
            "database_url": database_url,
            "broker_url": broker_url,
            "storage_url": storage.as_uri(),
            "scratch_folder": scratch,
        }
    )


@cache
def checked_settings() -> Settings:
    """What is alike in the settings of all tests; to read and check them takes longer than to make a database."""
    return Settings.model_validate(
        {
            "mode": "embedded",
            "database_url": "postgresql+psycopg://",
            "broker_url": "memory://",
            "storage_url": "memory://",
            "scratch_folder": Path("/nowhere"),
            "master_key": MASTER_KEY,
            # Ends are held back until an edge; tests of other things must not wait for it.
            "completion_seconds": 0.05,
            "report_slot_seconds": 0.05,
        }
    )


@pytest.fixture(scope="session")
def real_data_folder() -> Path:
    """Where the real tables are; without them the test skips, or fails where they must be present."""
    folder = Path(os.environ.get("UNDERSTUDY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "adult").is_dir():
        message = f"{REAL_DATA_ABSENT} in {folder}; set UNDERSTUDY_DATA to their folder (docs/real-data.md)"
        if os.environ.get(REAL_DATA_REQUIRED):
            pytest.fail(message)
        pytest.skip(message)
    return folder
