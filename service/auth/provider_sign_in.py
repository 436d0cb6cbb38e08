"""Sign-in of a browser at the identity provider: the authorization code flow with PKCE, state and nonce.

OpenID Connect Core 1.0, section 3.1; PKCE is RFC 7636 with S256; the issuer in the answer is RFC 9207. Nothing is
stored while the person is at the provider: a cookie holds 256 random bits, the time and the page to return to, and
state, nonce and PKCE verifier are keyed digests of that cookie. So an answer counts only in the browser that asked, an
ID token only for that question, and a code only together with the cookie.
"""

import base64
import binascii
import hmac
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final
from urllib.parse import quote_plus, urlencode, urlsplit

from core.clock import Clock
from core.platform.access.errors import AccountWithoutRole, SignInExpired, SignInRefused, TokenRefused
from core.platform.access.keys import SECRET_BYTES, Entropy, digests_equal, subkey_of
from core.platform.access.roles import Principal
from service.auth.issuer import CodeRefused, Issuer
from service.auth.tokens import Tokens

LIFETIME_SECONDS: Final = 600
LONGEST_COOKIE: Final = 4000
MAX_CODE_LENGTH: Final = 4096
_PARTS: Final = 3
_MOMENT: Final = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Client:
    """This service, as the provider knows it.

    Args:
        secret: None for a public client.
        redirect_url: Where the provider sends browsers back to.
        scopes: Separated by spaces.
    """

    id: str
    secret: str | None = field(repr=False)
    redirect_url: str
    scopes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Parameters with which the provider sent the browser back, unverified; None where a parameter is missing."""

    state: str | None
    code: str | None
    issuer: str | None
    error: str | None


class ProviderSignIn:
    """Begin and complete sign-ins at one provider.

    Args:
        tokens: Verifier of ID tokens, whose audience is the client's id.
        pepper: The key of the API keys' digests; the key for sign-ins is derived from it.
    """

    def __init__(
        self, issuer: Issuer, *, client: Client, tokens: Tokens, pepper: bytes, clock: Clock, entropy: Entropy
    ) -> None:
        self._issuer = issuer
        self._client = client
        self._tokens = tokens
        self._key = subkey_of(pepper, b"provider-sign-in")
        self._clock = clock
        self._entropy = entropy

    def begin(self, back_to: str) -> tuple[str, str]:
        """Begin a sign-in. Returns the URL at the provider, and the cookie of this attempt.

        Raises:
            IssuerUnavailable: The provider does not answer.
        """
        address = self._issuer.endpoints().authorization
        moment = int(self._clock.now().timestamp())
        cookie = f"{_text(self._entropy(SECRET_BYTES))}.{moment}.{_text(back_to.encode())}"
        question = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": self._client.redirect_url,
            "scope": self._client.scopes,
            "state": self._derived(b"state", cookie),
            "nonce": self._derived(b"nonce", cookie),
            "code_challenge": _text(sha256(self._derived(b"verifier", cookie).encode()).digest()),
            "code_challenge_method": "S256",
        }
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(question)}", cookie

    def complete(self, cookie: str | None, answer: Answer) -> tuple[Principal, str]:
        """Complete a sign-in. Returns the principal, and the page to return to, which the caller must check.

        Raises:
            SignInExpired: The answer belongs to no sign-in that this browser began within ten minutes.
            SignInRefused: The provider refused, or its answer does not verify.
            AccountWithoutRole: None of the account's roles is mapped.
            IssuerUnavailable: The provider does not answer.
        """
        back_to = self.back_to(cookie)
        state = self._derived(b"state", cookie or "")
        given = (answer.state or "").encode("utf-8", "surrogateescape")
        if back_to is None or cookie is None or not digests_equal(state.encode(), given):
            raise SignInExpired
        if answer.error is not None or answer.issuer not in {None, self._issuer.address}:
            raise SignInRefused
        if not answer.code or len(answer.code) > MAX_CODE_LENGTH:
            raise SignInRefused
        try:
            token = self._redeemed(answer.code, verifier=self._derived(b"verifier", cookie))
            principal = self._tokens.verify_sign_in(token, nonce=self._derived(b"nonce", cookie))
        except (CodeRefused, TokenRefused):
            raise SignInRefused from None
        if not principal.roles:
            raise AccountWithoutRole
        return principal, back_to

    def _redeemed(self, code: str, *, verifier: str) -> str:
        client = self._client
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client.redirect_url,
            "code_verifier": verifier,
        }
        auth = None
        if client.secret is None:
            form["client_id"] = client.id
        elif self._issuer.endpoints().takes_secret_in_body:
            form |= {"client_id": client.id, "client_secret": client.secret}
        else:
            # RFC 6749, section 2.3.1: both are form-encoded before they become user and password.
            auth = (quote_plus(client.id), quote_plus(client.secret))
        token = self._issuer.redeem(form, auth=auth).get("id_token")
        if not isinstance(token, str):
            raise TokenRefused
        return token

    def back_to(self, cookie: str | None) -> str | None:
        """The return page of an attempt's cookie that has not expired, which the caller must check. Only the state proves that the cookie is ours."""
        parts = (cookie or "")[: LONGEST_COOKIE + 1].split(".")
        if len(parts) != _PARTS or len(cookie or "") > LONGEST_COOKIE or not _MOMENT.fullmatch(parts[1]):
            return None
        if not 0 <= self._clock.now().timestamp() - int(parts[1]) < LIFETIME_SECONDS:
            return None
        try:
            return base64.urlsafe_b64decode(parts[2] + "=" * (-len(parts[2]) % 4)).decode()
        except (binascii.Error, ValueError):
            return None

    def _derived(self, purpose: bytes, cookie: str) -> str:
        text = cookie.encode("utf-8", "surrogateescape")
        return _text(hmac.digest(self._key, purpose + b":" + text, "sha256"))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
