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
from psycopg import sql
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import core.db.tables  # noqa: F401 - registers the tables
from core.db.base import Base
from core.db.session import driver_url
from migrations.upgrade import alembic_config, main, upgrade_to_head
from tests.conftest import execute

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


def test_down_and_up_again(empty_url, connect):
    upgrade_to_head(empty_url)
    connection = connect(empty_url)
    before = rows(connection, TABLES)
    config = alembic_config()
    with create_engine(driver_url(empty_url), poolclass=NullPool).connect() as given:
        config.attributes["connection"] = given
        command.downgrade(config, "base")
    assert rows(connection, TABLES) == [("alembic_version",)]
    assert rows(connection, text("SELECT proname FROM pg_proc WHERE proname = 'refuse_change'")) == []
    upgrade_to_head(empty_url)
    assert rows(connection, TABLES) == before


def test_principals_with_keys_become_people_who_are_not_enrolled(empty_url, connect):
    config = alembic_config()
    with create_engine(driver_url(empty_url), poolclass=NullPool).connect() as given:
        config.attributes["connection"] = given
        command.upgrade(config, "20261122_04_charged_reports")
    connection = connect(empty_url)
    insert = text(
        "INSERT INTO api_keys (id, principal_id, name, roles, prefix, digest, created_at, revoked_at)"
        " VALUES (:id, :who, 'n', :roles, 'p', :digest, now(), CASE WHEN :revoked THEN now() END)"
    )
    living, ended = uuid4(), uuid4()
    for who, roles, revoked in [
        (living, ["analyst"], False),
        (living, ["owner"], False),
        (living, ["admin"], True),
        (ended, ["owner"], True),
    ]:
        connection.execute(
            insert,
            {"id": uuid4(), "who": who, "roles": roles, "digest": uuid4().bytes, "revoked": revoked},
        )
    upgrade_to_head(empty_url)
    found = rows(connection, text("SELECT principal_id, roles, enrolled_at, held_until FROM people"))
    assert sorted(found) == sorted(
        [(living, ["analyst", "owner"], None, None), (ended, ["owner"], None, None)]
    ), "rights that were revoked do not come back, and who has nothing else is found again"
    assert rows(connection, text("SELECT DISTINCT enrolment_id FROM api_keys")) == [(None,)]


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
    from alembic.script import ScriptDirectory

    assert len(ScriptDirectory.from_config(alembic_config()).get_heads()) == 1


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
