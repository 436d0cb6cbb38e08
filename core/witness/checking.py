"""Verifying chains against every head that was noted outside the database. Reads only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy.orm import Session

from core.audit import linking
from core.audit import repository as audit_repository
from core.audit.chain import AuditCheck
from core.ledger import book
from core.ledger import repository as ledger_repository
from core.ledger.chain import Head
from core.ledger.verification import ChainCheck
from core.signing.contexts import AUDIT_HEAD, LEDGER_HEAD
from core.witness.errors import WitnessInvalid
from core.witness.heads import audit_head_of, ledger_head_of
from core.witness.places import AUDIT_KEY, Witnesses, ledger_key

NOT_OURS: Final = "a head noted outside the database is not signed by this service"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCheck:
    """What a verification of one ledger found.

    Args:
        chain: The verdict on the chain.
        head: The head on the budget's row, of the same moment.
        witnessed: The heads that the chain was held against.
    """

    chain: ChainCheck
    head: Head
    witnessed: tuple[Head, ...]


def check_ledger(
    session: Session,
    population_id: UUID,
    *,
    witnesses: Witnesses,
    public_keys: Mapping[str, bytes],
    further: Iterable[Head] = (),
) -> LedgerCheck:
    """Verify a population's whole chain, and that it passes through every head that was noted.

    Args:
        session: `Database.read_only` gives the snapshot that keeps appends out of the way.
        population_id: Whose chain.
        witnesses: Where heads are noted.
        public_keys: The service's keys.
        further: Heads that somebody else has kept.

    Raises:
        PopulationNotFound: No such population.
    """
    heads = list(further)
    try:
        # Before the first query, which takes the snapshot: a head noted meanwhile must not look like a lost entry.
        documents = witnesses.read(ledger_key(population_id), context=LEDGER_HEAD, public_keys=public_keys)
        heads += [ledger_head_of(document, population_id) for document in documents]
        ours = True
    except WitnessInvalid:
        ours = False
    head = ledger_repository.head_of(ledger_repository.budget_of(session, population_id))
    if not ours:
        broken = ChainCheck(checked=0, broken_at=1, problem=NOT_OURS)
        return LedgerCheck(chain=broken, head=head, witnessed=())
    distinct = tuple(dict.fromkeys(heads))
    chain = book.verify_chain(session, population_id, witness=distinct[0] if distinct else None)
    for witness in distinct[1:]:
        if chain.intact:
            chain = book.verify_chain(session, population_id, witness=witness)
    return LedgerCheck(chain=chain, head=head, witnessed=distinct)


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
        return AuditCheck(checked=0, broken_at=1, problem=NOT_OURS, head=audit_repository.head(session))
    return linking.verify(session, witnesses=heads)
