"""Bring a database to the newest schema: `python -m migrations.upgrade`.

Safe to start from several places at once: a second process waits for an advisory lock and then finds nothing to do.
The exit status is 2 if the database cannot be upgraded: its URL is not set, or its revision is not one of this software's.
"""

import os
import sys
from pathlib import Path
from typing import Final, Literal

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from core.db.session import driver_url

_ADVISORY_LOCK: Final = 7_253_104_866_021

# Short lines: the embedded stack shows the last eight of the log.
_EXPLANATIONS: Final = {
    "schema-too-old": """\
schema-too-old: the database is at revision {at}, older than {base}, the first that this software can upgrade.
Upgrade it with the last commit that has revision {at}, then with this one. In a clone of the repository, this
command names that commit: git log -1 --diff-filter=D --format=%h^ -- migrations/versions/{at}.py""",
    "schema-ahead": """\
schema-ahead: the database is at revision {at}, which is unknown to this software.
Run the release that created it, or a newer one. Never downgrade a database that has been in use.""",
}


class UnknownRevision(Exception):
    """The database is at a revision that this software cannot upgrade. The message starts with a code of the doctor."""


def alembic_config() -> Config:
    """Alembic's configuration, independent of the working folder and of alembic.ini."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def fault_of(revision: str) -> Literal["schema-too-old", "schema-ahead"] | None:
    """Return why this software cannot upgrade a database at a revision, or None if it can."""
    scripts = ScriptDirectory.from_config(alembic_config())
    if any(script.revision == revision for script in scripts.walk_revisions()):
        return None
    # Revision ids start with their date, so they sort by age.
    return "schema-too-old" if revision < _base(scripts) else "schema-ahead"


def upgrade_to_head(database_url: str) -> None:
    """Run every migration the database has not seen yet, each in its own transaction.

    Raises:
        UnknownRevision: the database is at a revision older than the baseline, or of a newer release.
    """
    engine = create_engine(driver_url(database_url), poolclass=NullPool, hide_parameters=True)
    # Two connections: the advisory lock belongs to a session and is freed when its connection closes, whatever happens.
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as guard,
        engine.connect() as connection,
    ):
        guard.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _ADVISORY_LOCK})
        for revision in MigrationContext.configure(guard).get_current_heads():
            _refuse_unknown(revision)
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def main() -> int:
    """Upgrade the database named by UNDERSTUDY_DATABASE_URL."""
    url = os.environ.get("UNDERSTUDY_DATABASE_URL")
    if not url:
        print("UNDERSTUDY_DATABASE_URL is not set: it names the database to upgrade", file=sys.stderr)
        return 2
    try:
        upgrade_to_head(url)
    except UnknownRevision as error:
        print(f"migrations.upgrade: {error}", file=sys.stderr)
        return 2
    return 0


def _refuse_unknown(revision: str) -> None:
    if fault := fault_of(revision):
        base = _base(ScriptDirectory.from_config(alembic_config()))
        raise UnknownRevision(_EXPLANATIONS[fault].format(at=revision, base=base))


def _base(scripts: ScriptDirectory) -> str:
    base = scripts.get_base()
    assert base is not None
    return base


if __name__ == "__main__":
    sys.exit(main())
