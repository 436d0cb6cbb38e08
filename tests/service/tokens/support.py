"""What the tests of tokens send."""

import base64
import hashlib
import hmac
import json
from typing import Any

from core.clock import FixedClock
from service.auth.issuer import Issuer
from service.auth.tokens import Tokens
from tests.service.oidc import Provider
from tests.service.world import NOON

AUDIENCE = "understudy"


NOW = int(NOON.timestamp())


ROLE_MAP = {"stats": "owner", "research": "analyst", "control": "auditor"}


def tokens_of(provider: Provider, clock: FixedClock, *, roles_claim: str = "roles") -> Tokens:
    issuer = Issuer(provider.address, clock=clock, plain_allowed=True)
    return Tokens(issuer, audience=AUDIENCE, roles_claim=roles_claim, role_map=ROLE_MAP, clock=clock)


def claims(provider: Provider, **changes: Any) -> dict[str, Any]:
    return {
        "iss": provider.address,
        "aud": AUDIENCE,
        "sub": "ada",
        "iat": NOW,
        "exp": NOW + 300,
        "roles": ["stats"],
    } | changes


def piece(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def forged(provider: Provider, header: Any, sign: bytes = b"", **changes: Any) -> str:
    head = f"{piece(header)}.{piece(claims(provider, **changes))}"
    signature = hmac.digest(sign, head.encode(), hashlib.sha256) if sign else b""
    return f"{head}.{piece(signature)}"
