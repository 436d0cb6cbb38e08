import subprocess
import sys
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from core.artifacts.signing.errors import SignatureInvalid, SignedFormUnknown
from core.artifacts.signing.signed import SignedDocument, Signer, key_id_of, verify
from core.canonical import canonical

SIGNER = Signer.of(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
KEYS = {SIGNER.key_id: SIGNER.public_key}
DOCUMENT = {"b": 1, "a": [0.1, "ü", None, True]}
SIGNED = SIGNER.sign(DOCUMENT, context="test/1")


def test_what_was_signed_verifies_and_survives_the_wire():
    again = SignedDocument.from_json(SIGNED.to_json())
    assert again == SIGNED
    assert verify(again, context="test/1", public_keys=KEYS) == DOCUMENT


def test_the_spelling_is_fixed():
    assert canonical(DOCUMENT) == b'{"a":[0.1,"\\u00fc",null,true],"b":1}'
    # Ed25519 is deterministic: this value may only change together with the version in the message.
    assert SIGNED.signature.hex()[:32] == "ecde25c3d7ac08b13c1526f71d8c38d5"
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical({"a": bad})


@pytest.mark.parametrize(
    "forged",
    [
        replace(SIGNED, document=DOCUMENT | {"b": 2}),
        replace(SIGNED, document=DOCUMENT | {"c": float("nan")}),
        replace(SIGNED, context="test/2"),
        replace(SIGNED, signature=bytes(64)),
        replace(SIGNED, signature=SIGNED.signature[:-1]),
        replace(SIGNED, key_id="0" * 32),
    ],
    ids=["document", "not-json", "context", "signature", "cut", "key"],
)
def test_anything_else_does_not(forged):
    with pytest.raises(SignatureInvalid):
        verify(forged, context="test/1", public_keys=KEYS)


def test_a_signature_for_another_purpose_is_worth_nothing():
    with pytest.raises(SignatureInvalid):
        verify(SIGNED, context="test/2", public_keys=KEYS)
    with pytest.raises(SignatureInvalid):
        verify(replace(SIGNED, context="test/2"), context="test/2", public_keys=KEYS)
    with pytest.raises(ValueError, match="no NUL"):
        SIGNER.sign(DOCUMENT, context="test\0")


def test_a_key_cannot_take_the_id_of_another():
    thief = Signer.of(Ed25519PrivateKey.generate())
    forged = replace(thief.sign(DOCUMENT, context="test/1"), key_id=SIGNER.key_id)
    with pytest.raises(SignatureInvalid):
        verify(forged, context="test/1", public_keys={SIGNER.key_id: thief.public_key})
    assert key_id_of(thief.public_key) == thief.key_id != SIGNER.key_id


@pytest.mark.parametrize("missing", ["context", "algorithm", "key_id", "signature"])
def test_a_document_of_another_form_is_refused(missing):
    form = SIGNED.to_json()
    del form[missing]
    with pytest.raises(SignedFormUnknown):
        SignedDocument.from_json(form)
    for wrong in (None, 3, []):
        with pytest.raises(SignedFormUnknown):
            SignedDocument.from_json(SIGNED.to_json() | {missing: wrong})


@pytest.mark.parametrize("form", [None, [], "x", {}, SIGNED.to_json() | {"signature": "not base64!"}])
def test_a_form_that_is_none_is_refused(form):
    with pytest.raises(SignedFormUnknown):
        SignedDocument.from_json(form)


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
    )
)
def test_every_json_document_can_be_signed(document):
    signed = SIGNER.sign(document, context="test/1")
    assert verify(SignedDocument.from_json(signed.to_json()), context="test/1", public_keys=KEYS) == document


@pytest.mark.parametrize("name", ["context", "algorithm", "key_id", "signature"])
def test_a_document_cannot_hold_what_the_signed_form_adds(name):
    with pytest.raises(ValueError, match="has no member"):
        SIGNER.sign({name: "x"}, context="test/1")


def test_a_signer_does_not_show_its_key():
    assert "private" not in repr(SIGNER)


def test_verifying_needs_no_database():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('sqlalchemy', 'psycopg', 'pydantic', 'obstore', 'celery')));"
        "import core.artifacts.signing.signed, core.artifacts.signing.contexts"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
