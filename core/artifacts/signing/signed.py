"""Signed documents: Ed25519 over a context and the canonical JSON. Needs no database, so a light client can verify.

The signed bytes are ``understudy/signature/1``, NUL, the context, NUL, the canonical document. The context is a constant
that names the purpose (``core.artifacts.signing.contexts``). It holds no NUL, so different pairs of context and document have
different bytes. A key's id is the first half of the SHA-256 of its public key, in hexadecimal, so no key can pass under
the id of another.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from core.artifacts.signing.errors import SignatureInvalid, SignedFormUnknown
from core.canonical import canonical

ALGORITHM: Final = "Ed25519"
_DOMAIN: Final = b"understudy/signature/1"
_KEY_ID_DIGITS: Final = 32
_SEAL_MEMBERS: Final = frozenset({"context", "algorithm", "key_id", "signature"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedDocument:
    """A document and the signature over it.

    Attributes:
        signature: The 64 bytes of Ed25519.
    """

    document: Mapping[str, Any]
    context: str
    key_id: str
    signature: bytes

    def to_json(self) -> dict[str, Any]:
        """Return the form in files and responses: the document's members, and four that say who signed it for what."""
        return dict(self.document) | {
            "context": self.context,
            "algorithm": ALGORITHM,
            "key_id": self.key_id,
            "signature": base64.b64encode(self.signature).decode("ascii"),
        }

    @classmethod
    def from_json(cls, form: object) -> Self:
        """Read the form without verifying anything.

        Raises:
            SignedFormUnknown: the value does not have this form.
        """
        if not isinstance(form, Mapping) or form.get("algorithm") != ALGORITHM:
            raise SignedFormUnknown
        texts = [form.get(name) for name in ("context", "key_id", "signature")]
        if not all(isinstance(text, str) for text in texts):
            raise SignedFormUnknown
        document = {name: value for name, value in form.items() if name not in _SEAL_MEMBERS}
        context, key_id, signature = map(str, texts)
        try:
            decoded = base64.b64decode(signature, validate=True)
        except ValueError:
            raise SignedFormUnknown from None
        return cls(document=document, context=context, key_id=key_id, signature=decoded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """A private key that signs; made by ``core.artifacts.signing.keyring`` and never kept longer than needed."""

    private_key: Ed25519PrivateKey = field(repr=False)
    key_id: str

    @classmethod
    def of(cls, private_key: Ed25519PrivateKey) -> Self:
        """Return the signer of a key."""
        return cls(private_key=private_key, key_id=key_id_of(private_key.public_key().public_bytes_raw()))

    @property
    def public_key(self) -> bytes:
        """The 32 bytes that verify what this signs."""
        return self.private_key.public_key().public_bytes_raw()

    def sign(self, document: Mapping[str, Any], *, context: str) -> SignedDocument:
        """Sign a document for a purpose.

        Raises:
            ValueError: the document holds NaN, an infinity or a member that the signed form adds, or the context a NUL.
        """
        if not _SEAL_MEMBERS.isdisjoint(document):
            message = f"a document to be signed has no member {', '.join(sorted(_SEAL_MEMBERS))}"
            raise ValueError(message)
        signature = self.private_key.sign(_message(document, context))
        return SignedDocument(document=document, context=context, key_id=self.key_id, signature=signature)


def verify(signed: SignedDocument, *, context: str, public_keys: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Return the document if it was signed for this context by one of these keys.

    Args:
        context: What the reader expects the signature to be for; the document's own claim does not count.
        public_keys: The 32-byte keys that the reader trusts, by id.

    Raises:
        SignatureInvalid: the document, the context or the key is another one.
    """
    public_key = public_keys.get(signed.key_id)
    if public_key is None or key_id_of(public_key) != signed.key_id or signed.context != context:
        raise SignatureInvalid
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(
            signed.signature, _message(signed.document, context)
        )
    except (InvalidSignature, ValueError, TypeError):
        raise SignatureInvalid from None
    return signed.document


def key_id_of(public_key: bytes) -> str:
    """Return the id of a public key, which follows from the key alone."""
    return hashlib.sha256(public_key).hexdigest()[:_KEY_ID_DIGITS]


def _message(document: Mapping[str, Any], context: str) -> bytes:
    if "\0" in context:
        message = "a context holds no NUL"
        raise ValueError(message)
    return b"\0".join((_DOMAIN, context.encode(), canonical(document)))
