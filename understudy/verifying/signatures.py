"""The signature of a certificate: Ed25519 over its purpose and its canonical JSON, by a key that the reader already trusts.

The signed message is ``understudy/signature/1``, NUL, the context, NUL, and the canonical JSON of the document without the four members of
the signature. A key's id is the first half of the SHA-256 of its 32 bytes, in hexadecimal, so no key can have another key's id. The certificate
itself never contains the key.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from understudy.errors import InputUnusable
from understudy.verifying.strict_json import read_object

CONTEXT: Final = "understudy.certificate/2"
_SEAL: Final = frozenset({"context", "algorithm", "key_id", "signature"})
_DOMAIN: Final = b"understudy/signature/1"
_KEY_BYTES: Final = 32
_PEM: Final = "-----BEGIN PUBLIC KEY-----"


def fingerprint(public_key: bytes) -> str:
    """The id of a public key."""
    return hashlib.sha256(public_key).hexdigest()[:_KEY_BYTES]


def signed_message(certificate: Mapping[str, Any], *, context: str = CONTEXT) -> bytes:
    """The bytes covered by the signature; the context gives its purpose."""
    document = {name: value for name, value in certificate.items() if name not in _SEAL}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return b"\0".join((_DOMAIN, context.encode(), text.encode("ascii")))


def verifies(certificate: Mapping[str, Any], public_key: bytes, *, context: str = CONTEXT) -> bool:
    """Whether this key signed the certificate, or another document under its context."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signature = base64.b64decode(certificate["signature"], validate=True)
    if base64.b64encode(signature).decode() != certificate["signature"]:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(
            signature, signed_message(certificate, context=context)
        )
    except (InvalidSignature, ValueError):
        return False
    return True


def key_of_text(text: str) -> bytes:
    """Read a public key from 64 hexadecimal digits.

    Raises:
        InputUnusable: the text is no public key.
    """
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InputUnusable("a public key is 64 hexadecimal digits, as GET /v1/signing-keys shows it")
    return key


def keys_of_file(file: Path) -> list[bytes]:
    """Read public keys from a file: the answer of ``GET /v1/signing-keys``, a PEM, or hexadecimal lines.

    Raises:
        InputUnusable: the file is missing, or holds no key.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        message = f"there is no readable file {file}"
        raise InputUnusable(message) from None
    if text.lstrip().startswith("{"):
        items = read_object(text.encode(), str(file)).get("items")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            message = f"{file} is not the answer of GET /v1/signing-keys"
            raise InputUnusable(message)
        return [key_of_text(str(item.get("public_key"))) for item in items]
    if _PEM in text:
        return [_key_of_pem(text.encode(), file)]
    return [key_of_text(line) for line in text.splitlines() if line.strip()]


def _key_of_pem(pem: bytes, file: Path) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem)
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        message = f"{file} holds no Ed25519 public key"
        raise InputUnusable(message)
    return key.public_bytes_raw()


def trusted_keys(texts: Sequence[str], file: Path | None) -> list[bytes]:
    """Read a person's trusted keys, from hexadecimal texts (`key_of_text`) and a file (`keys_of_file`).

    Raises:
        InputUnusable: a text is no key, or the file holds none.
    """
    return [key_of_text(text) for text in texts] + ([] if file is None else keys_of_file(file))
