"""Verification of ledgers and audit log against real tampering, by somebody with all rights on the database."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import pytest
from psycopg import sql
from sqlalchemy import create_engine, make_url, text

from core.clock import FixedClock
from core.data.objects import open_store
from core.db.session import Database, driver_url
from core.ledger import audit_log, governance, ledger_queries
from core.ledger.errors import PopulationFrozen
from core.platform.witness.verification import NOT_OURS
from core.platform.witness.witness_store import AUDIT_KEY, Witnesses
from tests.commands import run_here
from tests.conftest import execute
from tests.workers.support import Workshop, environment_of
from workers import ledger_audit
from workers.ledger_audit import LedgerAudit

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TABLES = ("ledger_entries", "budgets", "audit_events", "audit_links")


@pytest.fixture
def clock():
    return FixedClock(NOON)


@pytest.fixture
def workshop(settings, clock):
    workshop = Workshop(settings, clock=clock)
    yield workshop
    workshop.close()


@pytest.fixture
def outside(tmp_path):
    return open_store((tmp_path / "outside").as_uri())


@pytest.fixture
def audit(workshop, outside, clock):
    return auditing(workshop, workshop.database, workshop.store, outside, clock)


def auditing(workshop, database, store, outside, clock):
    witnesses = Witnesses(store, outside)
    keys = workshop.settings.master_keys
    return LedgerAudit(database, store, witnesses=witnesses, master_keys=keys, clock=clock)


def tamper(url, *statements):
    engine = create_engine(driver_url(url), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for table in TABLES:
            connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER ALL"))
        for statement in statements:
            assert connection.execute(text(statement)).rowcount > 0, "the tampering must have happened"
        for table in TABLES:
            connection.execute(text(f"ALTER TABLE {table} ENABLE TRIGGER ALL"))
    engine.dispose()


def frozen(database, population_id):
    with database.read_only() as session:
        return ledger_queries.is_frozen(session, population_id)


def newest(store, population_id):
    """The key of the newest head that a store has noted."""
    return max(
        found.key for found in store.list(f"witness/populations/{population_id}") if "/head-" in found.key
    )


def outcomes(database, action):
    with database.read_only() as session:
        query = text("SELECT outcome FROM audit_events WHERE action = :action ORDER BY sequence")
        return list(session.scalars(query, {"action": action}))


def test_whole_ledgers_move_their_signed_witnesses_along_in_every_place(workshop, audit, outside):
    for _ in range(2):
        workshop.order()
        found = audit.ledgers()[workshop.population_id]
        assert found.intact
        key = newest(workshop.store, workshop.population_id)
        noted = json.loads(workshop.store.get_bytes(key))
        assert noted["sequence"] == found.checked
        assert outside.get_bytes(key) == workshop.store.get_bytes(key)
    assert not frozen(workshop.database, workshop.population_id)
    assert outcomes(workshop.database, "ledger.verify") == []


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "UPDATE ledger_entries SET epsilon_micros = 1 WHERE sequence = 2",
            "the content of an entry was changed",
        ),
        (
            "UPDATE ledger_entries SET at = at + interval '1 second' WHERE sequence = 3",
            "the content of an entry was changed",
        ),
        ("DELETE FROM ledger_entries WHERE sequence = 2", "an entry is missing"),
        ("DELETE FROM ledger_entries WHERE sequence = 3", "not the head on the budget"),
        ("UPDATE budgets SET epsilon_cap = 5000", "cap on the budget"),
        ("UPDATE budgets SET head_sequence = 2", "not the head on the budget"),
    ],
    ids=["amount", "time", "row", "end", "cap", "head"],
)
def test_a_changed_ledger_is_found_recorded_and_frozen(workshop, audit, statement, problem):
    workshop.order()
    workshop.order()
    assert audit.ledgers()[workshop.population_id].intact
    noted = newest(workshop.store, workshop.population_id)
    tamper(workshop.settings.database_url, statement)
    found = audit.ledgers()[workshop.population_id]
    assert not found.intact
    assert problem in found.problem
    assert frozen(workshop.database, workshop.population_id)
    assert outcomes(workshop.database, "ledger.verify") == ["broken"]
    with pytest.raises(PopulationFrozen):
        workshop.order()
    assert not audit.ledgers()[workshop.population_id].intact, "it stays found"
    assert newest(workshop.store, workshop.population_id) == noted


def test_a_removed_end_with_a_moved_head_is_found_by_the_witness(workshop, audit):
    workshop.order()
    workshop.order()
    audit.ledgers()
    tamper(
        workshop.settings.database_url,
        "UPDATE budgets SET head_sequence = 2, head_hash = (SELECT hash FROM ledger_entries WHERE sequence = 2)",
        "DELETE FROM ledger_entries WHERE sequence = 3",
    )
    with workshop.database.read_only() as session:
        assert ledger_queries.verify_chain(session, workshop.population_id).intact, "in itself it is whole"
    assert audit.ledgers()[workshop.population_id].problem == "entries that were witnessed are missing"
    assert frozen(workshop.database, workshop.population_id)


def test_a_freeze_that_somebody_lifted_in_the_database_is_found(workshop, audit, clock):
    with workshop.database.transaction() as session:
        governance.freeze(session, workshop.population_id, by="owner", reason="inquiry", clock=clock)
    assert audit.ledgers()[workshop.population_id].intact
    tamper(workshop.settings.database_url, "UPDATE budgets SET frozen_at = NULL")
    assert "frozen" in audit.ledgers()[workshop.population_id].problem
    assert frozen(workshop.database, workshop.population_id)


def test_a_restored_backup_is_found_and_frozen_and_can_be_accepted(
    workshop, audit, outside, clock, postgres_server
):
    workshop.order()
    audit.ledgers()
    source = make_url(workshop.settings.database_url).database
    backup = f"{source}_backup"
    workshop.database.close()  # a copy needs the source to itself
    execute(
        postgres_server,
        sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(backup), sql.Identifier(source)),
    )
    workshop.order()
    audit.ledgers()
    restored = Database(postgres_server.url(backup))
    try:
        later = auditing(workshop, restored, workshop.store, outside, clock)
        found = later.ledgers()[workshop.population_id]
        assert found.problem == "entries that were witnessed are missing"
        assert frozen(restored, workshop.population_id)
        assert not later.ledgers()[workshop.population_id].intact
        # The object store was restored as well: the second place remembers.
        workshop.store.delete(newest(workshop.store, workshop.population_id))
        assert not later.ledgers()[workshop.population_id].intact
        head = later.accept(workshop.population_id)
        assert later.ledgers()[workshop.population_id].intact
        assert head.sequence == later.ledgers()[workshop.population_id].checked
        assert frozen(restored, workshop.population_id), "accepting is not unfreezing"
        assert outcomes(restored, "ledger.accept") == ["done"]
    finally:
        restored.close()
        execute(postgres_server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(backup)))


def test_a_population_that_is_gone_is_found(workshop, audit, outside):
    gone = UUID(int=7)
    audit.ledgers()
    key = newest(outside, workshop.population_id)
    outside.put_bytes(key.replace(str(workshop.population_id), str(gone)), outside.get_bytes(key))
    found = audit.ledgers()
    assert found[workshop.population_id].intact
    assert found[gone].problem == "a witnessed population is not in the database"
    assert outcomes(workshop.database, "ledger.verify") == ["broken"]


@pytest.mark.parametrize("change", [{"sequence": 1}, {"hash": "00" * 32}, {"key_id": "0" * 32}])
def test_a_forged_witness_is_found(workshop, audit, change):
    workshop.order()
    audit.ledgers()
    key = newest(workshop.store, workshop.population_id)
    forged = json.loads(workshop.store.get_bytes(key)) | change
    workshop.store.put_bytes(key, json.dumps(forged).encode())
    assert audit.ledgers()[workshop.population_id].problem == NOT_OURS
    assert frozen(workshop.database, workshop.population_id)
    audit.accept(workshop.population_id)
    assert audit.ledgers()[workshop.population_id].intact


def test_the_audit_log_is_linked_noted_and_verified(workshop, audit):
    def write(action):
        with workshop.database.transaction() as session:
            audit_log.append(session, actor="a", action=action, object="b", outcome="done", at=NOON)

    write("one")
    found = audit.audit_log()
    assert (found.intact, found.checked) == (True, 1)
    assert json.loads(workshop.store.get_bytes(AUDIT_KEY))["position"] == 1
    write("two")
    audit.audit_log()
    tamper(
        workshop.settings.database_url,
        "DELETE FROM audit_links WHERE position = 2",
        "DELETE FROM audit_events WHERE action = 'two'",
    )
    assert audit.audit_log().problem == "events that were witnessed are missing"
    assert outcomes(workshop.database, "audit.verify") == ["broken"]
    assert json.loads(workshop.store.get_bytes(AUDIT_KEY))["position"] == 2, "the witness stays"
    assert audit.accept_audit_log().sequence == 2, "the event that says it is broken is linked too"
    assert audit.audit_log().intact
    assert outcomes(workshop.database, "ledger.accept") == ["done"]


def test_the_command_tells_by_its_words_and_its_status(workshop, tmp_path):
    second = (tmp_path / "second").as_uri()
    environment = environment_of(workshop.settings) | {"UNDERSTUDY_WITNESS_URL": second}

    def run(*words):
        return run_here(partial(ledger_audit.main, words), environment)

    workshop.order()
    first = subprocess.run(
        [sys.executable, "-m", "workers.ledger_audit"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert first.returncode == 0, first.stderr
    assert f"ledger {workshop.population_id}: whole, 2 entries" in first.stdout
    assert "audit log: whole" in first.stdout
    assert newest(open_store(second), workshop.population_id)
    tamper(workshop.settings.database_url, "UPDATE ledger_entries SET epsilon_micros = 1 WHERE sequence = 2")
    broken = run()
    assert broken.returncode == 1
    assert f"ledger {workshop.population_id}: BROKEN: the content of an entry was changed" in broken.stdout
    accepted = run("--accept", str(workshop.population_id))
    assert accepted.returncode == 0
    assert "noted the head" in accepted.stdout
    assert os.environ.get("UNDERSTUDY_WITNESS_URL") is None
