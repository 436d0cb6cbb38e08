"""Verifying every population's ledger against a witness that lies outside the database.

The hash chain shows a change inside the ledger; a database restored from an old backup is consistent in itself and
has merely forgotten what was spent. So the head of every verified chain is noted in the object store, and the next
verification demands that the chain passes through it.
"""

import json
from typing import Final
from uuid import UUID

from sqlalchemy import select

from core.audit.log import append
from core.clock import Clock
from core.db.session import Database
from core.db.tables.budget import Budget
from core.ledger import book, repository
from core.ledger.chain import Head
from core.ledger.verification import ChainCheck
from core.logs import get_logger
from core.storage.errors import ObjectMissing
from core.storage.objects import ObjectStore

_SCHEMA: Final = "understudy.ledger-witness/1"


def witness_key(population_id: UUID) -> str:
    """Where the noted head of a population lies."""
    return f"ledger/{population_id}.json"


def audit_ledgers(database: Database, store: ObjectStore, *, clock: Clock) -> dict[UUID, ChainCheck]:
    """Verify all chains, note their heads, and log and record every one that is broken.

    A broken chain keeps its last good witness, so it stays broken until a person has looked.

    Returns:
        What was found, by population.

    Raises:
        DatabaseUnavailable: The database is away.
    """
    with database.read_only() as session:
        populations = list(session.scalars(select(Budget.population_id)))
    return {population_id: _audit(database, store, population_id, clock) for population_id in populations}


def _audit(database: Database, store: ObjectStore, population_id: UUID, clock: Clock) -> ChainCheck:
    witness = _read(store, population_id)
    with database.read_only() as session:
        found = book.verify_chain(session, population_id, witness=witness)
        head = repository.head_of(repository.budget_of(session, population_id))
    if found.intact:
        if head != witness:
            _write(store, population_id, head)
        return found
    get_logger().error(
        "ledger-chain-broken",
        population_id=str(population_id),
        broken_at=found.broken_at,
        problem=found.problem,
    )
    with database.transaction() as session:
        append(
            session,
            actor="upkeep",
            action="ledger.verify",
            object=str(population_id),
            outcome="broken",
            at=clock.now(),
        )
    return found


def _read(store: ObjectStore, population_id: UUID) -> Head | None:
    try:
        noted = json.loads(store.get_bytes(witness_key(population_id)))
    except ObjectMissing:
        return None
    assert noted["schema"] == _SCHEMA, "only this module writes witnesses"
    return Head(sequence=int(noted["sequence"]), hash=bytes.fromhex(noted["hash"]))


def _write(store: ObjectStore, population_id: UUID, head: Head) -> None:
    noted = {"schema": _SCHEMA, "sequence": head.sequence, "hash": head.hash.hex()}
    store.put_bytes(witness_key(population_id), json.dumps(noted).encode())
