"""Bring a database to the newest schema: `python -m migrations.upgrade`.

Safe to start from several places at once: a second process waits for an advisory lock and then finds nothing to do.
"""

import os
import sys
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from core.db.session import driver_url

_ADVISORY_LOCK: Final = 7_253_104_866_021


def alembic_config() -> Config:
    """Alembic's configuration, independent of the working folder and of alembic.ini."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade_to_head(database_url: str) -> None:
    """Run every pending migration, each in its own transaction."""
    engine = create_engine(driver_url(database_url), poolclass=NullPool, hide_parameters=True)
    # Two connections: the advisory lock belongs to a session and is freed when its connection closes, whatever happens.
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as guard,
        engine.connect() as connection,
    ):
        guard.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _ADVISORY_LOCK})
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def main() -> int:
    """Upgrade the database named by UNDERSTUDY_DATABASE_URL."""
    url = os.environ.get("UNDERSTUDY_DATABASE_URL")
    if not url:
        print("UNDERSTUDY_DATABASE_URL is not set: it names the database to upgrade", file=sys.stderr)
        return 2
    upgrade_to_head(url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
