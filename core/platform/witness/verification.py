"""Verify chains against every head noted outside the database. Reads only."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.artifacts.signing.contexts import AUDIT_HEAD
from core.db.tables.job import Job
from core.jobs.states import JobState
from core.ledger import audit_log, ledger_queries
from core.ledger import repository as ledger_repository
from core.ledger.audit_log import AuditCheck
from core.ledger.entries import LEDGER_CHAIN
from core.ledger.hash_chain import EMPTY, HISTORY_DIFFERS, ChainCheck, Head
from core.platform.witness.errors import WitnessInvalid
from core.platform.witness.signed_heads import audit_head_of
from core.platform.witness.witness_store import AUDIT_KEY, Noted, Witnesses

NOT_OURS: Final = "a head noted outside the database is not signed by this service"
HEAD_MISSING: Final = LEDGER_CHAIN.witnessed_missing
POPULATION_MISSING: Final = "a witnessed population is not in the database"
RELEASE_MISSING: Final = "something was published of which the database knows nothing"
_UNPUBLISHED: Final = (JobState.FAILED.value, JobState.CANCELLED.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCheck:
    """The result of verifying one ledger.

    Attributes:
        head: The head on the budget's row, in the same snapshot.
        witnessed: The heads that the chain was verified against.
        noted: Everything that the stores know.
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
    """Verify a population's whole chain, and that it contains everything that was noted.

    Args:
        session: A transaction; the snapshot of `Database.read_only` hides concurrent appends.
        further: Heads that the caller recorded.

    Raises:
        PopulationNotFound: No such population.
    """
    noted: Noted | None = None
    with suppress(WitnessInvalid):
        # Read before the first query takes the snapshot: a head noted meanwhile must not look like a lost entry.
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
    """Return what the database lacks of what was noted outside it, in constant words; None if it lacks nothing.

    This is cheap, because no hash is recomputed.

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
    """Return the noted heads through which the chain does not pass."""
    places = {each.sequence for each in noted.heads}
    known = ledger_repository.links_at(session, population_id, places)
    # A chain is only ever noted as empty before its first entry.
    return frozenset(each for each in noted.heads if each not in known and each != EMPTY)


def strange_jobs(session: Session, published: Collection[UUID]) -> frozenset[UUID]:
    """Return the published jobs that the database does not know, or of which it says that they published nothing.

    A job that has not ended does not count: it repeats what it did and publishes it again, or nothing if another machine makes something else of it.
    """
    known = select(Job.id).where(Job.id.in_(published), Job.state.not_in(_UNPUBLISHED))
    return frozenset(published) - frozenset(session.scalars(known))


def check_audit(session: Session, *, witnesses: Witnesses, public_keys: Mapping[str, bytes]) -> AuditCheck:
    """Verify the whole audit log, and that its chain passes through every noted head.

    Args:
        session: As for ``check_ledger``.
    """
    try:
        documents = witnesses.read(AUDIT_KEY, context=AUDIT_HEAD, public_keys=public_keys)
        heads = [audit_head_of(document) for document in documents]
    except WitnessInvalid:
        return AuditCheck(head=audit_log.head(session)).broken(NOT_OURS)
    return audit_log.verify(session, witnesses=heads)
