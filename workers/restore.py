"""Restoring a backup: `python -m workers.restore FOLDER`, with everything stopped but Postgres and the object store.

The database is replaced in one transaction: afterwards it is the backup's or, if anything failed, what it was. Only objects
that the store lacks are put back. None is overwritten or removed, because what the store has is newer, and signed heads
among it show what the backup lacks. Then workers.ledger_audit verifies the ledgers against those heads, and its exit
status is this command's: 1 means that spends are forgotten, and their datasets frozen.

A backup of an older release needs `python -m migrations.upgrade` first; the command says so, with exit status 3.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from sqlalchemy import text

from core.data.objects import ObjectStore, open_store
from core.db.session import Database
from core.platform.settings import Settings, read_settings
from workers import ledger_audit
from workers.backup import DUMP, OBJECTS, CommandFailed, run_tool

UPGRADE_FIRST: Final = 3
_EMPTIED: Final = ("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
_OTHERS: Final = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)


def restore(settings: Settings, folder: Path) -> bool:
    """Replace the database and put missing objects back. Returns whether the schema is still the same.

    Raises:
        CommandFailed: There is no backup, the database has other connections, or it could not be replaced.
    """
    dump = folder / DUMP
    if not dump.is_file():
        raise CommandFailed(f"the folder holds no {DUMP}: name one that workers.backup has written")
    with closing(Database(settings.database_url, pool_size=1, max_overflow=0)) as database:
        before = _schema_of(database)
        with database.read_only() as session:
            others = session.scalar(_OTHERS)
    if others:
        raise CommandFailed(
            f"{others} connections are open to the database: stop API, workers and upkeep first"
        )
    with NamedTemporaryFile(dir=folder, suffix=".sql") as script:
        # The script is complete before the first statement runs: psql would take the end of a broken pipe for the end of the backup.
        run_tool(settings, ["pg_restore", "--no-owner", "--no-privileges", "--file", script.name, str(dump)])
        emptied = [word for statement in _EMPTIED for word in ("--command", statement)]
        stop = ["--no-psqlrc", "--quiet", "--single-transaction", "--set", "ON_ERROR_STOP=1"]
        run_tool(settings, ["psql", *stop, *emptied, "--file", script.name], connects=True)
    if (folder / OBJECTS).is_dir():
        _put_back(open_store(settings.storage_url), folder / OBJECTS)
    with closing(Database(settings.database_url, pool_size=1, max_overflow=0)) as database:
        return _schema_of(database) == before


def _schema_of(database: Database) -> str | None:
    """The database's migration; None if the database is empty."""
    with database.read_only() as session:
        if session.scalar(text("SELECT to_regclass('public.alembic_version')")) is None:
            return None
        return str(session.scalar(text("SELECT version_num FROM alembic_version")))


def _put_back(store: ObjectStore, folder: Path) -> None:
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        key = path.relative_to(folder).as_posix()
        if not store.exists(key):
            store.put_file(key, path)


def main(words: Sequence[str]) -> int:
    """Restore a backup, and verify the result. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="workers.restore",
        description="Replaces the database by a backup's, and compares it with its witnesses.",
    )
    parser.add_argument("folder", type=Path, help="what workers.backup has written")
    arguments = parser.parse_args(words)
    try:
        same = restore(read_settings(), arguments.folder)
    except CommandFailed as failure:
        sys.stderr.write(f"workers.restore: {failure}\n")
        return 2
    sys.stdout.write("the database is the backup's\n")
    if not same:
        sys.stdout.write(
            "its schema is another release's: run `python -m migrations.upgrade`, then `python -m workers.ledger_audit`,"
            " before anything else\n"
        )
        return UPGRADE_FIRST
    return ledger_audit.main([])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
