"""Signed ledger heads, ledger verification, and the public keys that verify the service's signatures."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from core.artifacts.signing import keyring
from core.ledger import ledger_queries
from core.ledger import repository as ledger
from core.ledger.hash_chain import Head
from core.platform.witness.signed_heads import signed_ledger_head
from core.platform.witness.verification import check_ledger
from core.platform.witness.witness_store import Witnesses
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.problem import problems
from service.strict_route import StrictRoute
from service.witness.errors import HalfAWitness
from service.witness.schemas import LedgerHeadView, LedgerVerification, SigningKeyList, SigningKeyView

router = APIRouter(tags=["witness"], route_class=StrictRoute)

Sequence = Annotated[
    int | None, Query(ge=0, lt=2**63, description="Sequence of a head that you recorded; requires `hash`.")
]
HexHash = Annotated[
    str | None,
    Query(
        alias="hash",
        pattern=r"^[0-9a-f]{64}$",
        description="Hash of that head, hexadecimal; requires `sequence`.",
    ),
]


@router.get("/signing-keys", summary="List public keys")
def list_signing_keys(
    _principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> SigningKeyList:
    """The keys that verify signed heads, exports and certificates. Record them: verification relies on trust on first use."""
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
    """Number of entries and hash of the last entry, signed. A copy stored elsewhere proves the ledger's past content."""
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
    """Recompute every hash and total, and compare the chain with the heads recorded outside the database.

    A head that you recorded yourself is compared too. This is read-only; only the daily verification freezes budgets.
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
