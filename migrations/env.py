"""Alembic's entry: run the migrations over the connection it is given, or over UNDERSTUDY_DATABASE_URL."""

import os
from typing import Literal

from alembic import context
from sqlalchemy import Connection, create_engine

import core.db.tables  # noqa: F401 - registers every table on Base.metadata
from core.db.base import Base, UtcDateTime
from core.db.session import driver_url


def _render(kind: str, item: object, _autogen: object) -> str | Literal[False]:
    """Write plain types into migrations: old ones must never depend on current code."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, UtcDateTime) else False


def _migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_server_default=True,
        render_item=_render,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _migrate(given)
else:
    engine = create_engine(driver_url(os.environ["UNDERSTUDY_DATABASE_URL"]), hide_parameters=True)
    with engine.connect() as opened:
        _migrate(opened)
    engine.dispose()
