import re
import subprocess
import sys
import threading
from pathlib import Path
from uuid import uuid4

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import core.db.tables  # noqa: F401 - registers the tables
from core.db.base import Base
from core.db.session import driver_url
from migrations.upgrade import UnknownRevision, alembic_config, fault_of, main, upgrade_to_head
from service.health import newest_migration
from tests.conftest import execute
from tests.migrations.rules import FIRST

ROOT = Path(__file__).parents[2]
VERSIONS = sorted((ROOT / "migrations" / "versions").glob("*.py"))

CHECKS = text(
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text <> 'alembic_version' ORDER BY 1, 2"
)
INDEXES = text(
    "SELECT tablename, indexname, indexdef FROM pg_indexes"
    " WHERE schemaname = 'public' AND tablename <> 'alembic_version' ORDER BY 1, 2"
)
TABLES = text("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")


@pytest.fixture
def empty_url(postgres_server):
    name = f"empty_{uuid4().hex}"
    execute(postgres_server, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield postgres_server.url(name)
    execute(postgres_server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def connect():
    opened = []

    def connect(url):
        engine = create_engine(driver_url(url), isolation_level="AUTOCOMMIT")
        connection = engine.connect()
        opened.append((connection, engine))
        return connection

    yield connect
    for connection, engine in opened:
        connection.close()
        engine.dispose()


def scripts():
    return ScriptDirectory.from_config(alembic_config())


def rows(connection, query):
    return [tuple(row) for row in connection.execute(query)]


def test_the_migrations_build_what_the_tables_declare(database_url, connect):
    context = MigrationContext.configure(connect(database_url), opts={"compare_server_default": True})
    assert compare_metadata(context, Base.metadata) == []


def test_constraints_and_indexes_are_the_declared_ones(database_url, empty_url, connect):
    migrated, declared = connect(database_url), connect(empty_url)
    Base.metadata.create_all(declared)
    assert rows(migrated, CHECKS) == rows(declared, CHECKS)
    assert rows(migrated, INDEXES) == rows(declared, INDEXES)


def test_a_database_is_ready_at_the_head_that_alembic_knows():
    assert newest_migration() == scripts().get_current_head()


def test_down_and_up_again(empty_url, connect):
    upgrade_to_head(empty_url)
    connection = connect(empty_url)
    before = rows(connection, TABLES)
    config = alembic_config()
    with create_engine(driver_url(empty_url), poolclass=NullPool).connect() as given:
        config.attributes["connection"] = given
        command.downgrade(config, "base")
    assert rows(connection, TABLES) == [("alembic_version",)]
    assert (
        rows(connection, text("SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"))
        == []
    )
    upgrade_to_head(empty_url)
    assert rows(connection, TABLES) == before


@pytest.fixture
def set_revision(empty_url, connect):
    """Build the schema in an empty database and write any revision into it."""

    def set_revision(revision):
        upgrade_to_head(empty_url)
        connect(empty_url).execute(text("UPDATE alembic_version SET version_num = :at"), {"at": revision})

    return set_revision


OLDER, NEWER = "20261122_07_fair_jobs", "20991231_later"


def test_a_database_at_the_baseline_stays_as_it_is(empty_url, connect, set_revision):
    set_revision(FIRST)
    connection = connect(empty_url)
    built = text(
        "SELECT oid, relname, xmin::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
    )
    before = rows(connection, built)
    with create_engine(driver_url(empty_url), poolclass=NullPool).connect() as given:
        config = alembic_config()
        config.attributes["connection"] = given
        command.upgrade(config, FIRST)
    assert rows(connection, built) == before


@pytest.mark.parametrize(("at", "code"), [(OLDER, "schema-too-old"), (NEWER, "schema-ahead")])
def test_an_unknown_revision_is_refused(empty_url, connect, set_revision, monkeypatch, capsys, at, code):
    set_revision(at)
    monkeypatch.setenv("UNDERSTUDY_DATABASE_URL", empty_url)
    assert main() == 2
    told = capsys.readouterr().err
    assert told.startswith(f"migrations.upgrade: {code}: ")
    assert f"at revision {at}" in told
    assert "Traceback" not in told
    assert rows(connect(empty_url), text("SELECT version_num FROM alembic_version")) == [(at,)]


def test_an_older_revision_is_refused(empty_url, set_revision):
    """The message fits into the end of the log that the embedded stack shows, and names the commit's command."""
    set_revision(OLDER)
    with pytest.raises(UnknownRevision) as refusal:
        upgrade_to_head(empty_url)
    told = str(refusal.value)
    assert len(told.splitlines()) <= 8
    assert f"older than {FIRST}" in told
    assert f"git log -1 --diff-filter=D --format=%h^ -- migrations/versions/{OLDER}.py" in told


def test_known_revisions_are_no_fault():
    assert [fault_of(script.revision) for script in scripts().walk_revisions()] == [None] * len(VERSIONS)


def test_the_baseline_is_the_only_start():
    assert scripts().get_bases() == [FIRST]


def test_several_upgrades_at_once(empty_url, connect):
    errors = []

    def upgrade():
        try:
            upgrade_to_head(empty_url)
        except Exception as error:  # noqa: BLE001 - collected and asserted on
            errors.append(error)

    # Alembic keeps its context in globals of the process, so racing roles are processes.
    code = f"from migrations.upgrade import upgrade_to_head; upgrade_to_head({empty_url!r})"
    racers = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(3)]
    threads = [threading.Thread(target=upgrade)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [racer.wait() for racer in racers] == [0, 0, 0]
    assert errors == []
    assert len(rows(connect(empty_url), text("SELECT * FROM alembic_version"))) == 1


def test_the_command(empty_url, monkeypatch, capsys, connect):
    assert main() == 2
    assert "UNDERSTUDY_DATABASE_URL is not set" in capsys.readouterr().err
    monkeypatch.setenv("UNDERSTUDY_DATABASE_URL", empty_url)
    assert main() == 0
    assert main() == 0
    assert ("ledger_entries",) in rows(connect(empty_url), TABLES)


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_every_migration_is_dated_and_gives_up_on_locks(path):
    assert re.fullmatch(r"20\d{6}_[a-z0-9_]+", path.stem)
    source = path.read_text()
    upgrade, downgrade = source.split("def downgrade")
    for half in (upgrade, downgrade):
        assert "SET LOCAL lock_timeout" in half
        assert "SET LOCAL statement_timeout" in half
    assert "from core" not in source, "a migration must not depend on today's code"


def test_there_is_one_head():
    assert len(scripts().get_heads()) == 1


def test_a_new_migration_is_written_from_the_template(database_url, tmp_path, connect):
    import shutil

    folder = tmp_path / "migrations"
    shutil.copytree(ROOT / "migrations", folder, ignore=shutil.ignore_patterns("__pycache__"))
    config = alembic_config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("file_template", "%%(year)d%%(month).2d%%(day).2d_%%(slug)s")
    with create_engine(driver_url(database_url), poolclass=NullPool).connect() as given:
        config.attributes["connection"] = given
        script = command.revision(config, message="nothing yet", autogenerate=True)
    written = Path(script.path).read_text()
    assert written.count("SET LOCAL lock_timeout") == 2
    assert re.fullmatch(r"20\d{6}_nothing_yet.py", Path(script.path).name)
