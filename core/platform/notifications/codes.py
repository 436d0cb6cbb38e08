"""The code that confirms an e-mail address, derived from the endpoint's secret and therefore not stored."""

import base64
import hmac
from datetime import timedelta
from hashlib import sha256
from typing import Final

MAX_TRIES: Final = 5
LIFETIME: Final = timedelta(hours=24)
_CODE_BYTES: Final = 5
_PURPOSE: Final = b"understudy/confirm-address/1"


def code_of(secret: bytes) -> str:
    """Eight letters and digits, 40 bits: five guesses succeed with probability 5 in 1.1e12."""
    return base64.b32encode(hmac.digest(secret, _PURPOSE, sha256)[:_CODE_BYTES]).decode()


def matches(code: str, *, secret: bytes) -> bool:
    """Whether a code is right, ignoring spaces and case."""
    plain = "".join(code.split()).replace("-", "").upper()
    return hmac.compare_digest(plain.encode(), code_of(secret).encode())
