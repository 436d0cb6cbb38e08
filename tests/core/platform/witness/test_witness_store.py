import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.artifacts.signing.contexts import AUDIT_HEAD, LEDGER_HEAD
from core.artifacts.signing.signed import Signer
from core.data.objects import open_store
from core.ledger.hash_chain import Head
from core.platform.witness.errors import WitnessInvalid
from core.platform.witness.signed_heads import (
    Acceptance,
    audit_head_of,
    ledger_head_of,
    signed_acceptance,
    signed_audit_head,
    signed_ledger_head,
    signed_publication,
)
from core.platform.witness.witness_store import (
    AUDIT_KEY,
    Noted,
    Witnesses,
    acceptance_key,
    head_key,
    ledger_key,
    publication_key,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SIGNER = Signer.of(Ed25519PrivateKey.generate())
KEYS = {SIGNER.key_id: SIGNER.public_key}
POPULATION = uuid4()
HEAD = Head(sequence=3, hash=b"h" * 32)


@pytest.fixture
def stores():
    return open_store("memory://"), open_store("memory://")


def test_a_head_comes_back_from_every_store_once(stores):
    witnesses = Witnesses(*stores)
    assert witnesses.noted(POPULATION, public_keys=KEYS) == Noted()
    assert witnesses.add(head_key(POPULATION, HEAD), signed_ledger_head(SIGNER, POPULATION, HEAD, at=NOON))
    assert not witnesses.add(
        head_key(POPULATION, HEAD), signed_ledger_head(SIGNER, POPULATION, HEAD, at=NOON)
    )
    assert witnesses.noted(POPULATION, public_keys=KEYS).heads == {HEAD}
    witnesses.require_signed(POPULATION, HEAD, public_keys=KEYS)
    assert dict(witnesses.noted_by_population(public_keys=KEYS)) == {
        POPULATION: witnesses.noted(POPULATION, public_keys=KEYS)
    }


@pytest.mark.parametrize("earlier", [0, 1])
def test_no_head_ever_replaces_another_in_whichever_order_they_arrive(stores, earlier):
    witnesses = Witnesses(*stores)
    other = Head(sequence=3, hash=b"f" * 32)
    older = Head(sequence=2, hash=b"g" * 32)
    arrivals = [HEAD, older, other] if earlier else [older, other, HEAD]
    for head in arrivals:
        witnesses.add(head_key(POPULATION, head), signed_ledger_head(SIGNER, POPULATION, head, at=NOON))
    Witnesses(stores[1]).write(
        ledger_key(POPULATION),
        signed_ledger_head(SIGNER, POPULATION, Head(sequence=1, hash=b"e" * 32), at=NOON),
    )
    noted = witnesses.noted(POPULATION, public_keys=KEYS)
    assert {head.sequence for head in noted.heads} == {1, 2, 3}
    assert len(noted.heads) == 4
    assert noted.newest == HEAD


def test_what_an_operator_accepts_counts_no_more_and_nobody_else_can_say_so(stores):
    witnesses, job = Witnesses(*stores), uuid4()
    witnesses.add(head_key(POPULATION, HEAD), signed_ledger_head(SIGNER, POPULATION, HEAD, at=NOON))
    witnesses.add(
        publication_key(POPULATION, job), signed_publication(SIGNER, POPULATION, job, HEAD, at=NOON)
    )
    known = witnesses.noted(POPULATION, public_keys=KEYS)
    assert (known.heads, known.published) == ({HEAD}, {job})
    accepted = Acceptance(heads=frozenset({HEAD}), jobs=frozenset({job}))
    present = Head(sequence=1, hash=b"p" * 32)
    stranger = Signer.of(Ed25519PrivateKey.generate())
    for signer, population in ((stranger, POPULATION), (SIGNER, uuid4())):
        forged = signed_acceptance(signer, population, present, accepted, at=NOON)
        witnesses.write(acceptance_key(POPULATION, present), forged)
        assert witnesses.noted(POPULATION, public_keys=KEYS) == known
    signed = signed_acceptance(SIGNER, POPULATION, present, accepted, at=NOON)
    witnesses.write(acceptance_key(POPULATION, present), signed)
    assert witnesses.noted(POPULATION, public_keys=KEYS) == Noted(accepted=accepted)


def test_the_head_of_the_audit_log_comes_back(stores):
    head = Head(sequence=9, hash=b"a" * 32)
    witnesses = Witnesses(*stores)
    witnesses.write(AUDIT_KEY, signed_audit_head(SIGNER, head, at=NOON))
    (document,) = witnesses.read(AUDIT_KEY, context=AUDIT_HEAD, public_keys=KEYS)
    assert audit_head_of(document) == head
    assert list(witnesses.noted_by_population(public_keys=KEYS)) == []


def test_the_head_of_another_chain_is_none(stores):
    witnesses = Witnesses(*stores)
    signed = signed_ledger_head(SIGNER, uuid4(), HEAD, at=NOON)
    with pytest.raises(WitnessInvalid):
        ledger_head_of(signed.document, POPULATION)
    with pytest.raises(WitnessInvalid):
        audit_head_of(signed.document)
    witnesses.write(AUDIT_KEY, signed)
    with pytest.raises(WitnessInvalid):
        witnesses.read(AUDIT_KEY, context=AUDIT_HEAD, public_keys=KEYS)


@pytest.mark.parametrize("change", [{"sequence": 1}, {"key_id": "0" * 32}, {"signature": "AAAA"}, None])
def test_what_this_service_has_not_signed_is_no_witness(stores, change):
    key = ledger_key(POPULATION)
    form = signed_ledger_head(SIGNER, POPULATION, HEAD, at=NOON).to_json()
    stores[1].put_bytes(key, b"{" if change is None else json.dumps(form | change).encode())
    with pytest.raises(WitnessInvalid):
        Witnesses(*stores).read(key, context=LEDGER_HEAD, public_keys=KEYS)
