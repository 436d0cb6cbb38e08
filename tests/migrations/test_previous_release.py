"""The first release goes on working on the newest schema: its rows stay, and every write it makes still succeeds.

Its tables are taken from its own migration, so what is written here are its columns and no others. The long form, all
tests of a previous release against the newest migrations, is `make check-previous REF=...`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest
from alembic import command
from psycopg import sql
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    Table,
    create_engine,
    insert,
    null,
    select,
    update,
)
from sqlalchemy.pool import NullPool

from core.db.session import driver_url
from migrations.upgrade import alembic_config
from tests.conftest import execute
from tests.migrations.rules import FIRST

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HASH = bytes(32)


@pytest.fixture
def engine(postgres_server) -> Iterator[Engine]:
    """A database at the first release's migration."""
    name = f"previous_{uuid4().hex}"
    execute(postgres_server, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    engine = create_engine(driver_url(postgres_server.url(name)), poolclass=NullPool)
    migrate(engine, FIRST)
    yield engine
    execute(postgres_server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def migrate(engine: Engine, revision: str) -> None:
    config = alembic_config()
    with engine.connect() as given:
        config.attributes["connection"] = given
        command.upgrade(config, revision)


class FirstRelease:
    """What the first release writes, in the order it does: a row in every table, and one job that is published."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        known = MetaData()
        known.reflect(engine)
        self.tables: dict[str, Table] = {
            name: table for name, table in known.tables.items() if "alembic" not in name
        }

    def publish(self) -> dict[str, Any]:
        """Write it all; returns the keys of what was written."""
        with self.engine.begin() as connection:
            write = Writes(connection, self.tables)
            self._access(write)
            population = write.insert("budgets", rule="filters", head_sequence=0)["population_id"]
            dataset = write.insert("datasets", adjacency="add-or-remove", state="declared")["id"]
            write.insert("uploads", state="open", wrapped_data_key=HASH)
            write.insert("upload_parts")
            write.insert("waiting_rows")
            write.update(
                "datasets",
                "id",
                dataset,
                state="ready",
                rows_key="r",
                wrapped_data_key=b"k",
                intake_report={},
            )
            write.update("budgets", "population_id", population, epsilon_cap=1.0, delta_cap=1e-5)
            self._governance(write)
            write.entry(population, 1, "GRANTED", terms={"a": 1}, grant_id=uuid4(), grant_balance=[1] * 16)
            job, release = self._job(write, population)
            self._rest(write)
        return {"population_id": population, "dataset": dataset, "job": job, "release": release}

    @staticmethod
    def _access(write: "Writes") -> None:
        key = write.insert("api_keys", roles=["owner"])["id"]
        write.update("api_keys", "id", key, revoked_at=NOON)
        write.insert("people", roles=["owner"])
        for name in ("browser_sessions", "login_throttles", "enrolments", "principal_names"):
            write.insert(name)
        caller = write.insert("idempotency_keys")["principal_id"]
        write.update("idempotency_keys", "principal_id", caller, response_status=202, response_body={})

    @staticmethod
    def _governance(write: "Writes") -> None:
        write.insert("dataset_members")
        write.insert("grants", state="open")
        request = write.insert("budget_requests", state="open")["id"]
        write.update("budget_requests", "id", request, state="denied", decided_at=NOON, decided_by=uuid4())

    @staticmethod
    def _job(write: "Writes", population: UUID) -> tuple[UUID, UUID]:
        job = uuid4()
        write.entry(population, 2, "RESERVED", job_id=job, mechanism={"a": 1})
        write.insert("jobs", id=job, state="queued", sealed_randomness_key=b"s", fence=0, attempts=0)
        write.entry(population, 3, "SPENT", job_id=job, fence=1)
        write.update(
            "jobs", "id", job, state="running", fence=1, attempts=1, lease_expires_at=NOON, started_at=NOON
        )
        write.update("jobs", "id", job, stage="train", step=3, steps_begun=3, sent_at=NOON)
        write.update(
            "jobs", "id", job, state="succeeded", lease_expires_at=None, sealed_randomness_key=None,
            finished_at=NOON,
        )  # fmt: skip
        write.entry(population, 4, "RESERVED", job_id=uuid4(), mechanism={"a": 1})
        release: UUID = write.insert("releases")["id"]
        write.insert("charged_reports")
        write.insert("sealed_reports", state="queued")
        return job, release

    @staticmethod
    def _rest(write: "Writes") -> None:
        # The trigger writes audit_unlinked.
        write.insert("audit_events", action="job.order")
        write.insert("audit_links")
        write.insert("notification_endpoints", channel="email", state="active", wrapped_details=b"d")
        write.insert("notification_events")
        write.insert("notification_deliveries", state="delivered")
        write.insert("service_secrets")
        # Only one key may be in use.
        write.insert("signing_keys", retired_at=NOON)
        write.insert("worker_signs", role="worker")
        write.insert("chore_runs")

    def read(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything, by the columns the first release knows."""
        with self.engine.connect() as connection:
            return {
                name: sorted(map(tuple, connection.execute(select(table))), key=str)
                for name, table in self.tables.items()
            }


class Writes:
    """Inserts and updates of the first release's columns.

    An insert fills every column: from its arguments, from the last row of the table that a foreign key names, and else by
    its type; null where it may be.
    """

    def __init__(self, connection: Connection, tables: dict[str, Table]) -> None:
        self._connection = connection
        self._tables = tables
        self._last: dict[str, Any] = {}

    def insert(self, table_name: str, /, **given: Any) -> dict[str, Any]:
        table = self._tables[table_name]
        values = {column.name: self._value(column) for column in table.columns if column.identity is None}
        assert given.keys() <= values.keys()
        values |= given
        self._connection.execute(insert(table).values(**values))
        self._last |= {f"{table_name}.{name}": value for name, value in values.items()}
        return values

    def update(self, table_name: str, key: str, which: UUID, /, **values: Any) -> None:
        table = self._tables[table_name]
        done = self._connection.execute(update(table).where(table.c[key] == which).values(**values))
        assert done.rowcount == 1

    def entry(self, population: UUID, sequence: int, kind: str, **given: Any) -> None:
        self.insert(
            "ledger_entries", population_id=population, sequence=sequence, kind=kind, rdp_micros=[1] * 6,
            balance=[1] * 16, **given,
        )  # fmt: skip
        self.update("budgets", "population_id", population, head_sequence=sequence, head_hash=HASH)

    def _value(self, column: Column[Any]) -> Any:
        for key in column.foreign_keys:
            if not column.nullable:
                return self._last[key.target_fullname]
        return null() if column.nullable else made(str(column.type))


NUMBERS = count(int(NOON.timestamp()))


def made(kind: str) -> Any:
    """A value of a type of Postgres, never the same twice where a column may be unique."""
    values: dict[str, Any] = {
        "UUID": uuid4(),
        "TEXT": str(uuid4()),
        "BYTEA": uuid4().bytes * 2,
        "TIMESTAMP": NOON,
        "BIGINT": next(NUMBERS),
        "DOUBLE PRECISION": 0.5,
        "BOOLEAN": False,
        "JSON": {},
        "JSONB": {},
        "ARRAY": [],
    }
    return values[kind]


def test_rows_of_the_first_release_stay_as_they_are(engine):
    first = FirstRelease(engine)
    first.publish()
    before = first.read()
    assert all(before.values()), "every table has a row"
    migrate(engine, "head")
    assert first.read() == before


def test_the_first_release_goes_on_writing_and_reading(engine):
    first = FirstRelease(engine)
    first.publish()
    migrate(engine, "head")
    written = first.publish()
    found = first.read()
    assert len(found["jobs"]) == len(found["releases"]) == 2
    assert any(written["job"] in row for row in found["releases"])


def test_a_write_that_the_first_release_makes_is_seen_when_it_fails(engine):
    """The test above bites: a column that it does not fill makes it fail."""
    first = FirstRelease(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE jobs ADD COLUMN later TEXT NOT NULL")
    with pytest.raises(Exception, match="later"):
        first.publish()
