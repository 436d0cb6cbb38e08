import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.audit.chain import AuditHead
from core.ledger.chain import Head
from core.signing.contexts import AUDIT_HEAD, LEDGER_HEAD
from core.signing.signed import Signer
from core.storage.objects import open_store
from core.witness.errors import WitnessInvalid
from core.witness.heads import audit_head_of, ledger_head_of, signed_audit_head, signed_ledger_head
from core.witness.places import AUDIT_KEY, Witnesses, ledger_key

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SIGNER = Signer.of(Ed25519PrivateKey.generate())
KEYS = {SIGNER.key_id: SIGNER.public_key}
POPULATION = uuid4()
HEAD = Head(sequence=3, hash=b"h" * 32)


@pytest.fixture
def stores():
    return open_store("memory://"), open_store("memory://")


def test_a_head_comes_back_from_every_store_once(stores):
    witnesses, key = Witnesses(*stores), ledger_key(POPULATION)
    assert witnesses.read(key, context=LEDGER_HEAD, public_keys=KEYS) == []
    witnesses.write(key, signed_ledger_head(SIGNER, POPULATION, HEAD, at=NOON))
    (document,) = witnesses.read(key, context=LEDGER_HEAD, public_keys=KEYS)
    assert ledger_head_of(document, POPULATION) == HEAD
    assert witnesses.populations() == {POPULATION}
    older = signed_ledger_head(SIGNER, POPULATION, Head(sequence=2, hash=b"g" * 32), at=NOON)
    Witnesses(stores[1]).write(key, older)
    assert len(witnesses.read(key, context=LEDGER_HEAD, public_keys=KEYS)) == 2


def test_the_head_of_the_audit_log_comes_back(stores):
    head = AuditHead(position=9, hash=b"a" * 32)
    witnesses = Witnesses(*stores)
    witnesses.write(AUDIT_KEY, signed_audit_head(SIGNER, head, at=NOON))
    (document,) = witnesses.read(AUDIT_KEY, context=AUDIT_HEAD, public_keys=KEYS)
    assert audit_head_of(document) == head
    assert witnesses.populations() == set()


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
