"""The code that confirms an e-mail address: derived from the endpoint's secret, so that it is kept nowhere."""

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
    """Eight letters and digits, 40 bits: of five tries one in 2e11 is right by chance."""
    return base64.b32encode(hmac.digest(secret, _PURPOSE, sha256)[:_CODE_BYTES]).decode()


def matches(code: str, *, secret: bytes) -> bool:
    """Whether a code is the one, however it is spaced and cased."""
    plain = "".join(code.split()).replace("-", "").upper()
    return hmac.compare_digest(plain.encode(), code_of(secret).encode())
