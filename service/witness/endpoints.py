"""Signed heads of ledgers, their verification, and the public keys that verify what the service signs."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from core.ledger import ledger_queries
from core.ledger import repository as ledger
from core.signing import keyring
from core.signing.hash_chain import Head
from core.witness.signed_heads import signed_ledger_head
from core.witness.verification import check_ledger
from core.witness.witness_store import Witnesses
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.problem import problems
from service.strict_route import StrictRoute
from service.witness.errors import HalfAWitness
from service.witness.schemas import LedgerHeadView, LedgerVerification, SigningKeyList, SigningKeyView

router = APIRouter(tags=["witness"], route_class=StrictRoute)

Sequence = Annotated[
    int | None, Query(ge=0, lt=2**63, description="Sequence of a head that you noted; needs `hash` too.")
]
HexHash = Annotated[
    str | None,
    Query(
        alias="hash",
        pattern=r"^[0-9a-f]{64}$",
        description="Hash of that head, hexadecimal; needs `sequence` too.",
    ),
]


@router.get("/signing-keys", summary="List the public keys")
def list_signing_keys(
    _principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> SigningKeyList:
    """The keys that verify signed heads, exports and certificates. Note them down: a key seen first is a key trusted."""
    keyring.signer(session, master_keys=context.settings.master_keys, clock=context.clock)
    return SigningKeyList(items=[SigningKeyView.of(row) for row in keyring.all_keys(session)])


@router.get(
    "/datasets/{dataset_id}/ledger/head",
    summary="Read the signed head of the ledger",
    responses=problems(DatasetNotFound),
)
def read_ledger_head(
    dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> LedgerHeadView:
    """How many entries the ledger has and the hash of the last, signed. Kept elsewhere, it proves what had happened."""
    population_id = repository.visible(session, dataset_id, principal).population_id
    signer = keyring.signer(session, master_keys=context.settings.master_keys, clock=context.clock)
    head = ledger.head_of(ledger.budget_of(session, population_id))
    signed = signed_ledger_head(signer, population_id, head, at=context.clock.now())
    return LedgerHeadView.model_validate(signed.to_json())


@router.get(
    "/datasets/{dataset_id}/ledger/verification",
    summary="Verify the ledger",
    responses=problems(DatasetNotFound, HalfAWitness),
)
def verify_ledger(
    dataset_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    sequence: Sequence = None,
    head_hash: HexHash = None,
) -> LedgerVerification:
    """Recompute every hash and every total, and hold the chain against the heads noted outside the database.

    A head that you noted yourself is held against it too. This only reads; the nightly verification freezes.
    """
    if (sequence is None) != (head_hash is None):
        raise HalfAWitness
    with context.database.transaction() as session:
        population_id = repository.visible(session, dataset_id, principal).population_id
        public_keys = keyring.public_keys(session)
    noted = (
        []
        if sequence is None or head_hash is None
        else [Head(sequence=sequence, hash=bytes.fromhex(head_hash))]
    )
    with context.database.read_only() as session:
        found = check_ledger(
            session,
            population_id,
            witnesses=Witnesses.of(context.settings, context.store),
            public_keys=public_keys,
            further=noted,
        )
        frozen = ledger_queries.is_frozen(session, population_id)
    return LedgerVerification.of(population_id, found, frozen=frozen)
