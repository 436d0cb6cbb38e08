"""Give committed events their places in the chain, and verify the chain. See docs/decisions/audit-chain.md."""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import Final

from sqlalchemy.orm import Session

from core.db.session import Database
from core.ledger.audit import repository
from core.ledger.audit.chain import AUDIT_CHAIN, AuditCheck, Link
from core.ledger.hash_chain import Head

BATCH: Final = 1000


def link_waiting(database: Database, *, batch: int = BATCH) -> int:
    """Link every event that is committed by now, a batch per transaction. Several linkers may run at once.

    Returns:
        The number of events linked here.
    """
    done = 0
    while True:
        with database.transaction() as session:
            linked = link_batch(session, limit=batch)
        done += linked
        if linked < batch:
            return done


def link_batch(session: Session, *, limit: int) -> int:
    """Link at most ``limit`` waiting events in the caller's transaction. Returns how many."""
    repository.lock_chain(session)
    # A separate statement after the lock, so that it sees what the previous linker committed.
    head = repository.head(session)
    links: list[Link] = []
    for event in repository.waiting(session, limit=limit):
        links.append(Link.after(head, event))
        head = links[-1].head
    if links:
        repository.add_links(session, links)
    return len(links)


def verify(session: Session, *, witnesses: Iterable[Head] = ()) -> AuditCheck:
    """Recompute the whole chain, and look for events that were kept out of it.

    Args:
        session: a transaction; the snapshot of `Database.read_only` hides concurrent linkers.
        witnesses: heads noted earlier outside this database.
    """
    with closing(repository.links(session)) as links:
        chain = AUDIT_CHAIN.verify(links, witnesses=witnesses)
    found = AuditCheck.of(chain, waiting=repository.waiting_count(session))
    if not found.intact:
        return found
    if repository.withheld(session):
        return replace(found, problem="an event was kept out of the chain")
    if repository.vanished(session):
        return replace(found, problem="an event was removed before it was linked")
    return found
