"""The first release goes on working on the newest schema: its rows stay, and every write it makes still succeeds.

Its tables are taken from its own migration, so what is written here are its columns and no others. The long form, all
tests of a previous release against the newest migrations, is `make check-previous REF=...`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from alembic import command
from psycopg import sql
from sqlalchemy import Connection, Engine, MetaData, Table, create_engine, insert, null, select, update
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
    """What the first release writes, in the order it does, for one dataset with one job that is published."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        known = MetaData()
        known.reflect(engine)
        self.tables: dict[str, Table] = {
            name: table for name, table in known.tables.items() if "alembic" not in name
        }

    def publish(self) -> dict[str, Any]:
        """Write it all; returns the keys of what was written."""
        population, dataset, job, release, key = (uuid4() for _ in range(5))
        with self.engine.begin() as connection:
            write = Writes(connection, self.tables)
            write.insert(
                "api_keys", id=key, principal_id=uuid4(), name="n", roles=["owner"], prefix="0a1b2c3d",
                digest=key.bytes, created_at=NOON, revoked_at=None,
            )  # fmt: skip
            write.insert(
                "budgets", population_id=population, epsilon_cap=None, delta_cap=None, rule="filters",
                head_sequence=0, head_hash=HASH, created_at=NOON,
            )  # fmt: skip
            write.insert(
                "datasets", id=dataset, population_id=population, owner_id=uuid4(), name="n", domain={},
                adjacency="add-or-remove", privacy_unit=None, declared_size=5, state="declared", rows_key=None,
                wrapped_data_key=None, intake_report=None, created_at=NOON,
            )  # fmt: skip
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
            write.entry(population, job, 1, "RESERVED", mechanism={"a": 1})
            write.insert(
                "jobs", id=job, dataset_id=dataset, ordered_by=uuid4(), state="queued", plan={}, plan_digest="d",
                fence=0, lease_expires_at=None, cancel_requested_at=None, stage=None, step=0, total_steps=3,
                steps_begun=0, sealed_randomness_key=b"s", failure_code=None, attempts=0, created_at=NOON,
                sent_at=NOON, started_at=None, finished_at=None,
            )  # fmt: skip
            write.entry(population, job, 2, "SPENT", fence=1)
            write.update(
                "jobs",
                "id",
                job,
                state="running",
                fence=1,
                attempts=1,
                lease_expires_at=NOON,
                started_at=NOON,
            )
            write.update("jobs", "id", job, stage="train", step=3, steps_begun=3, sent_at=NOON)
            write.update(
                "jobs", "id", job, state="succeeded", lease_expires_at=None, sealed_randomness_key=None,
                finished_at=NOON,
            )  # fmt: skip
            write.entry(population, uuid4(), 3, "RESERVED", mechanism={"a": 1})
            write.insert(
                "releases", id=release, job_id=job, dataset_id=dataset, bundle_key="b", certificate={},
                created_at=NOON,
            )  # fmt: skip
            write.insert(
                "audit_events", at=NOON, actor="a", action="job.order", object=str(job), outcome="done"
            )
            write.insert(
                "idempotency_keys", principal_id=key, key="k", request_digest=b"d", response_status=None,
                response_body=None, created_at=NOON,
            )  # fmt: skip
            write.update("idempotency_keys", "principal_id", key, response_status=202, response_body={})
            write.update("api_keys", "id", key, revoked_at=NOON)
        return {"population_id": population, "dataset": dataset, "job": job, "release": release}

    def read(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything, by the columns the first release knows."""
        with self.engine.connect() as connection:
            return {
                name: sorted(map(tuple, connection.execute(select(table))), key=str)
                for name, table in self.tables.items()
            }


class Writes:
    """Inserts and updates of the first release's columns; an insert names every one that it filled."""

    def __init__(self, connection: Connection, tables: dict[str, Table]) -> None:
        self._connection = connection
        self._tables = tables

    def insert(self, table_name: str, /, **values: Any) -> None:
        table = self._tables[table_name]
        filled = {column.name for column in table.columns if column.identity is None}
        assert set(values) == filled, "the first release fills every column"
        self._connection.execute(insert(table).values(**values))

    def update(self, table_name: str, key: str, which: UUID, /, **values: Any) -> None:
        table = self._tables[table_name]
        done = self._connection.execute(update(table).where(table.c[key] == which).values(**values))
        assert done.rowcount == 1

    def entry(self, population: UUID, job: UUID, sequence: int, kind: str, **given: Any) -> None:
        values = {"mechanism": null(), "fence": None} | given
        self.insert(
            "ledger_entries", population_id=population, sequence=sequence, kind=kind, job_id=job,
            epsilon_micros=1, delta_femtos=1, rdp_micros=[1] * 6, at=NOON, previous_hash=HASH, hash=HASH, **values,
        )  # fmt: skip
        self.update("budgets", "population_id", population, head_sequence=sequence, head_hash=HASH)


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
