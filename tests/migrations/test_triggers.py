"""What was written to the ledger and the audit log stays, whoever asks."""

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from core.db.session import Database, driver_url
from core.ledger import ledger, ledger_queries
from tests.core.ledger.support import CLOCK, charge, new_population, reserve

UPSERT = """
INSERT INTO ledger_entries SELECT * FROM ledger_entries
ON CONFLICT (population_id, sequence) DO UPDATE SET epsilon_micros = 0
"""


@pytest.fixture
def written(database_url):
    database = Database(database_url)
    population = new_population(database)
    job = reserve(database, population, charge(0.5))
    with database.transaction() as session:
        ledger.spend(session, job, fence=1, clock=CLOCK)
    yield database_url
    with database.read_only() as session:
        assert ledger_queries.verify_chain(session, population).checked == 3
        assert ledger_queries.verify_chain(session, population).intact
    database.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger_entries SET epsilon_micros = 0",
        "UPDATE ledger_entries SET epsilon_micros = 0 WHERE false",
        "DELETE FROM ledger_entries",
        "DELETE FROM ledger_entries WHERE sequence = 2",
        "TRUNCATE ledger_entries",
        "TRUNCATE budgets CASCADE",
        "DELETE FROM budgets",
        UPSERT,
    ],
)
@pytest.mark.parametrize("role", ["origin", "replica"])
def test_the_ledger_only_grows(written, change, role):
    engine = create_engine(driver_url(written))
    with engine.connect() as connection:
        connection.execute(text(f"SET session_replication_role = {role}"))
        with pytest.raises(DBAPIError) as refusal:
            connection.execute(text(change))
    engine.dispose()
    assert refusal.value.orig.sqlstate == "23000"
