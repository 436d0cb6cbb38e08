"""Canonical JSON: the one spelling of a document that hashes and signatures cover."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def canonical(document: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Return the document with sorted keys, without spaces, in ASCII. Numbers are as Python prints them, which is lossless.

    Raises:
        ValueError: the document holds NaN or an infinity.
        TypeError: the document holds a value that JSON cannot express.
    """
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")


def canonical_digest(document: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return the SHA-256 of the canonical JSON, in hexadecimal. Raises what `canonical` raises."""
    return hashlib.sha256(canonical(document)).hexdigest()
