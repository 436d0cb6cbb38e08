"""Tokens of an OpenID Connect provider: signed JSON Web Tokens, verified with its published keys.

Claims are trusted only after the signature was verified with a key of the provider, under the one algorithm that this
service accepts for that key type. So a token cannot choose "none", nor have a public key treated as a shared secret. All
refusals look the same: knowing which check failed would help only a forger.
"""

import hmac
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid5

import jwt

from core.clock import Clock
from core.platform.access.errors import TokenRefused
from core.platform.access.roles import Principal, Role, Via
from service.auth.issuer import Issuer

LEEWAY_SECONDS: Final = 60
MAX_TOKEN_LENGTH: Final = 16 * 1024
MAX_SUBJECT_LENGTH: Final = 255
MAX_ROLES: Final = 1000
DOTS: Final = 2
# UUID namespace of principal ids; it must never change.
PRINCIPALS: Final = UUID("6f1f6f3c-9a55-4f0b-8a86-0d1c7e3b2a94")
_PLAIN_TYPES: Final = frozenset({None, "JWT", "AT+JWT", "APPLICATION/AT+JWT"})
# The library checks signature and algorithm; we check times against the injected clock.
_OPTIONS: Final[Any] = {
    "verify_signature": True,
    "verify_aud": True,
    "verify_iss": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "require": ["iss", "aud", "sub", "exp", "iat"],
}


def looks_like_token(text: str) -> bool:
    """Whether a bearer credential has the outer form of a signed token."""
    return text.count(".") == DOTS


class Tokens:
    """Verifies tokens and maps their roles.

    Args:
        audience: The required value of ``aud``.
        roles_claim: Path of the roles claim; dots descend into objects.
        role_map: Maps the provider's roles to roles here; others are ignored.
    """

    def __init__(
        self,
        issuer: Issuer,
        *,
        audience: str,
        roles_claim: str,
        role_map: Mapping[str, str],
        clock: Clock,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._roles_claim = roles_claim
        self._role_map = {name: Role(role) for name, role in role_map.items()}
        self._clock = clock

    def verify(self, token: str) -> Principal:
        """The principal of a token. A principal without a role here is authenticated but may do nothing.

        Raises:
            TokenRefused: Not a token of the provider for this service, or not valid at this time.
            IssuerUnavailable: The provider's keys are not available.
        """
        return self._principal(self._claims(token))

    def verify_sign_in(self, token: str, *, nonce: str) -> Principal:
        """The principal of an ID token that answers the sign-in with this nonce (OpenID Connect Core 1.0, section 3.1.3.7).

        Raises:
            TokenRefused: As `verify`, or it answers another sign-in, or it was issued to another client.
            IssuerUnavailable: The provider's keys are not available.
        """
        claims = self._claims(token)
        given, audience = claims.get("nonce"), claims["aud"]
        if not isinstance(given, str) or not hmac.compare_digest(
            given.encode("utf-8", "surrogatepass"), nonce.encode()
        ):
            raise TokenRefused
        is_ours_alone = isinstance(audience, str) or len(audience) == 1
        if claims.get("azp", self._audience if is_ours_alone else None) != self._audience:
            raise TokenRefused
        return self._principal(claims)

    def _claims(self, token: str) -> Mapping[str, Any]:
        if len(token) > MAX_TOKEN_LENGTH:
            raise TokenRefused
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(header)
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm_name],
                audience=self._audience,
                issuer=self._issuer.address,
                options=_OPTIONS,
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            raise TokenRefused from None
        self._require_timely(claims)
        return claims

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_LENGTH:
            raise TokenRefused
        principal_id = principal_of(self._issuer.address, subject)
        return Principal(
            id=principal_id,
            key_id=principal_id,
            roles=self._roles(claims),
            via=Via.TOKEN,
            enrolment_id=principal_id,
        )

    def _key(self, header: Mapping[str, Any]) -> jwt.PyJWK:
        name, kind = header.get("kid"), header.get("typ")
        if not isinstance(name, str) or "crit" in header:
            raise TokenRefused
        if (kind.upper() if isinstance(kind, str) else kind) not in _PLAIN_TYPES:
            raise TokenRefused
        key = self._issuer.key(name)
        if key is None or header.get("alg") != key.algorithm_name:
            raise TokenRefused
        return key

    def _require_timely(self, claims: Mapping[str, Any]) -> None:
        now = self._clock.now().timestamp()
        expires, issued, begins = claims["exp"], claims["iat"], claims.get("nbf", claims["iat"])
        if not all(_is_time(moment) for moment in (expires, issued, begins)):
            raise TokenRefused
        if now >= expires + LEEWAY_SECONDS or now < max(issued, begins) - LEEWAY_SECONDS:
            raise TokenRefused

    def _roles(self, claims: Mapping[str, Any]) -> frozenset[Role]:
        found: Any = claims
        for part in self._roles_claim.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        names = found.split() if isinstance(found, str) else found
        if not isinstance(names, list) or len(names) > MAX_ROLES:
            return frozenset()
        listed = {name for name in names if isinstance(name, str)}
        return frozenset(self._role_map[name] for name in listed & set(self._role_map))


def principal_of(issuer: str, subject: str) -> UUID:
    """The stable id of a person, unique to this provider and subject."""
    return uuid5(PRINCIPALS, f"{issuer}\n{subject}")


def _is_time(value: object) -> bool:
    # Comparisons with NaN are always false, and this JSON parser accepts NaN.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53
