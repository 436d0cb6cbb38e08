"""Verifying chains against every head that was noted outside the database. Reads only."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.audit import linking
from core.audit import repository as audit_repository
from core.audit.chain import AuditCheck
from core.db.tables.job import Job
from core.jobs.states import JobState
from core.ledger import ledger_queries
from core.ledger import repository as ledger_repository
from core.ledger.entries import LEDGER_CHAIN
from core.signing.contexts import AUDIT_HEAD
from core.signing.hash_chain import EMPTY, HISTORY_DIFFERS, ChainCheck, Head
from core.witness.errors import WitnessInvalid
from core.witness.heads import audit_head_of
from core.witness.places import AUDIT_KEY, Noted, Witnesses

NOT_OURS: Final = "a head noted outside the database is not signed by this service"
HEAD_MISSING: Final = LEDGER_CHAIN.witnessed_missing
POPULATION_MISSING: Final = "a witnessed population is not in the database"
RELEASE_MISSING: Final = "something was published of which the database knows nothing"
_UNPUBLISHED: Final = (JobState.FAILED.value, JobState.CANCELLED.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCheck:
    """What a verification of one ledger found.

    Args:
        chain: The verdict on the chain.
        head: The head on the budget's row, of the same moment.
        witnessed: The newest heads that the chain was held against.
        noted: All that the stores know.
    """

    chain: ChainCheck
    head: Head
    witnessed: tuple[Head, ...]
    noted: Noted


def check_ledger(
    session: Session,
    population_id: UUID,
    *,
    witnesses: Witnesses,
    public_keys: Mapping[str, bytes],
    further: Iterable[Head] = (),
) -> LedgerCheck:
    """Verify a population's whole chain, and that it has forgotten nothing of what was noted.

    Args:
        session: `Database.read_only` gives the snapshot that keeps appends out of the way.
        population_id: Whose chain.
        witnesses: Where heads are noted.
        public_keys: The service's keys.
        further: Heads that somebody else has kept.

    Raises:
        PopulationNotFound: No such population.
    """
    noted: Noted | None = None
    with suppress(WitnessInvalid):
        # Before the first query, which takes the snapshot: a head noted meanwhile must not look like a lost entry.
        noted = witnesses.noted(population_id, public_keys=public_keys)
    head = ledger_repository.head_of(ledger_repository.budget_of(session, population_id))
    not_ours = ChainCheck().broken(NOT_OURS)
    if noted is None:
        return LedgerCheck(chain=not_ours, head=head, witnessed=(), noted=Noted())
    witnessed = tuple(dict.fromkeys([*further, *([] if noted.newest is None else [noted.newest])]))
    chain = ledger_queries.verify_chain(session, population_id, witnesses=witnessed)
    if chain.intact and (problem := forgotten(session, population_id, noted)) is not None:
        chain = chain.broken(problem)
    if chain.intact and noted.newest is not None:
        try:
            witnesses.require_signed(population_id, noted.newest, public_keys=public_keys)
        except WitnessInvalid:
            return LedgerCheck(chain=not_ours, head=head, witnessed=(), noted=noted)
    return LedgerCheck(chain=chain, head=head, witnessed=witnessed, noted=noted)


def forgotten(session: Session, population_id: UUID, noted: Noted) -> str | None:
    """What the database lacks of what was noted outside it, in constant words; None where it lacks nothing.

    The chain's own links are not recomputed, so this is cheap.

    Raises:
        PopulationNotFound: No such population.
    """
    head = ledger_repository.head_of(ledger_repository.budget_of(session, population_id))
    if any(each.sequence > head.sequence for each in noted.heads):
        return HEAD_MISSING
    if strange_heads(session, population_id, noted):
        return HISTORY_DIFFERS
    return RELEASE_MISSING if strange_jobs(session, noted.published) else None


def strange_heads(session: Session, population_id: UUID, noted: Noted) -> frozenset[Head]:
    """The noted heads through which the chain does not pass."""
    places = {each.sequence for each in noted.heads}
    known = ledger_repository.links_at(session, population_id, places)
    # A chain is witnessed as empty only where nothing has happened yet.
    return frozenset(each for each in noted.heads if each not in known and each != EMPTY)


def strange_jobs(session: Session, published: Collection[UUID]) -> frozenset[UUID]:
    """Those jobs of which something was published, and which the database does not know or believes to have published nothing.

    One that has not ended is none of them: it repeats what it did, to the bit, and publishes it again.
    """
    known = select(Job.id).where(Job.id.in_(published), Job.state.not_in(_UNPUBLISHED))
    return frozenset(published) - frozenset(session.scalars(known))


def check_audit(session: Session, *, witnesses: Witnesses, public_keys: Mapping[str, bytes]) -> AuditCheck:
    """Verify the whole audit log, and that it passes through every head that was noted.

    Args:
        session: As for ``check_ledger``.
        witnesses: Where heads are noted.
        public_keys: The service's keys.
    """
    try:
        documents = witnesses.read(AUDIT_KEY, context=AUDIT_HEAD, public_keys=public_keys)
        heads = [audit_head_of(document) for document in documents]
    except WitnessInvalid:
        return AuditCheck(head=audit_repository.head(session)).broken(NOT_OURS)
    return linking.verify(session, witnesses=heads)
