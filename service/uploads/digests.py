"""The SHA-256 of the ``Content-Digest`` header (RFC 9530)."""

import base64
import re
from typing import Final

from core.data.uploads.errors import DigestMissing

_BYTES: Final = 32
_MEMBER: Final = re.compile(r"\s*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):\s*")


def read_sha256(header: str | None) -> bytes:
    """The SHA-256 in a dictionary of digests such as ``sha-256=:...:, sha-512=:...:``.

    Raises:
        DigestMissing: No SHA-256, or a malformed header.
    """
    found: bytes | None = None
    for text in (header or "").split(","):
        member = _MEMBER.fullmatch(text)
        if member is None:
            raise DigestMissing
        if member[1] == "sha-256":
            found = _decoded(member[2])
    if found is None or len(found) != _BYTES:
        raise DigestMissing
    return found


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise DigestMissing from None
