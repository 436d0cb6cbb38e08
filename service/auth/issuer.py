"""An identity provider: its public keys and endpoints, fetched by OpenID Connect discovery and cached.

Keys are fetched again when they are stale or a token names an unknown one, but at most once a minute: neither a
provider that rotates its keys nor a caller who invents key ids causes more requests. While the provider is unreachable,
known keys keep working for an hour.
"""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from core.clock import Clock
from core.logs import get_logger
from core.platform.access.errors import IssuerUnavailable

# One asymmetric algorithm per key type. Secrets shared with the provider are never used for verification.
ALGORITHM_OF: Final[Mapping[tuple[str, str], str]] = {
    ("RSA", ""): "RS256",
    ("EC", "P-256"): "ES256",
    ("OKP", "Ed25519"): "EdDSA",
}
FRESH_SECONDS: Final = 600.0
KEPT_SECONDS: Final = 3600.0
PAUSE_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 5.0
FETCH_SECONDS: Final = 5.0
MAX_DOCUMENT_BYTES: Final = 2**20
MIN_RSA_BITS: Final = 2048

Keys = Mapping[str, jwt.PyJWK]


class Endpoints(NamedTuple):
    """Addresses of the provider that a browser's sign-in needs."""

    authorization: str
    token: str
    takes_secret_in_body: bool
    """Whether the token endpoint knows `client_secret_post` only, not `client_secret_basic`."""


Connect = Callable[[], httpx.Client]


def open_http() -> httpx.Client:
    """A client with short timeouts that follows no redirects: keys come only from the configured address."""
    return httpx.Client(timeout=FETCH_SECONDS, follow_redirects=False)


class IssuerUnusable(Exception):
    """The provider's answer does not conform to OpenID Connect."""


class CodeRefused(Exception):
    """The provider's token endpoint refused: the code is unknown, used or expired, or the client is."""


class Issuer:
    """One identity provider.

    Args:
        address: Its issuer URL, exactly as in its tokens.
        connect: Opens an HTTP client, closed after each fetch; ``open_http`` outside tests.
        plain_allowed: Whether plain HTTP is allowed, as in the embedded stack.
    """

    def __init__(
        self, address: str, *, clock: Clock, plain_allowed: bool, connect: Connect = open_http
    ) -> None:
        self.address = address
        self._connect = connect
        self._clock = clock
        self._plain_allowed = plain_allowed
        self._lock = threading.Lock()
        self._keys: Keys = {}
        self._endpoints: Endpoints | None = None
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._failed = False

    def key(self, name: str) -> jwt.PyJWK | None:
        """The public key with this id, or None if the provider has none.

        Raises:
            IssuerUnavailable: The provider does not answer, and the key is not cached.
        """
        now = self._clock.now().timestamp()
        known = self._keys.get(name)
        age = now - self._fetched_at
        if known is not None and age < FRESH_SECONDS:
            return known
        with self._lock:
            if self._may_fetch(now):
                self._fetch(now)
        known = self._keys.get(name)
        age = now - self._fetched_at
        if known is not None and age < KEPT_SECONDS:
            return known
        if self._failed:
            raise IssuerUnavailable
        return None

    def endpoints(self) -> Endpoints:
        """The endpoints of the authorization code flow.

        Raises:
            IssuerUnavailable: The provider does not answer, or has no such endpoints.
        """
        now = self._clock.now().timestamp()
        if self._endpoints is None or now - self._fetched_at >= FRESH_SECONDS:
            with self._lock:
                if self._may_fetch(now):
                    self._fetch(now)
        if self._endpoints is None or now - self._fetched_at >= KEPT_SECONDS:
            raise IssuerUnavailable
        return self._endpoints

    def redeem(self, form: Mapping[str, str], *, auth: tuple[str, str] | None) -> Mapping[str, Any]:
        """Exchange an authorization code for tokens (RFC 6749, section 4.1.3).

        `auth` is user and password of HTTP Basic; None where the form says who asks.

        Raises:
            CodeRefused: The provider answered, and refused.
            IssuerUnavailable: It does not answer, or not in JSON.
        """
        address = self.endpoints().token
        try:
            return self._document(address, form=form, auth=auth)
        except (httpx.HTTPError, httpx.InvalidURL, IssuerUnusable, ValueError, RecursionError) as error:
            get_logger().warning("issuer-unavailable", kind=type(error).__name__)
            raise IssuerUnavailable from None

    def _may_fetch(self, now: float) -> bool:
        pause = RETRY_SECONDS if self._failed else PAUSE_SECONDS
        return not 0 <= now - self._tried_at < pause

    def _fetch(self, now: float) -> None:
        self._tried_at = now
        try:
            found = self._discovered()
            self._keys = _usable_keys(self._document(str(found.get("jwks_uri", ""))))
            self._endpoints = _endpoints_of(found)
        except (httpx.HTTPError, httpx.InvalidURL, IssuerUnusable, ValueError, RecursionError) as error:
            self._failed = True
            get_logger().warning("issuer-unavailable", kind=type(error).__name__)
            return
        self._failed = False
        self._fetched_at = now

    def _require_secure(self, address: str) -> None:
        scheme = urlsplit(address).scheme
        if scheme != "https" and not (scheme == "http" and self._plain_allowed):
            raise IssuerUnusable

    def _discovered(self) -> Mapping[str, Any]:
        found = self._document(f"{self.address.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self.address:
            raise IssuerUnusable
        if found.get("authorization_endpoint"):
            self._require_secure(str(found["authorization_endpoint"]))
        return found

    def _document(
        self, address: str, *, form: Mapping[str, str] | None = None, auth: tuple[str, str] | None = None
    ) -> Mapping[str, Any]:
        self._require_secure(address)
        body = bytearray()
        with (
            self._connect() as http,
            http.stream(
                "GET" if form is None else "POST",
                address,
                headers={"Accept": "application/json"},
                data=form,
                auth=auth,
            ) as answer,
        ):
            if form is not None and answer.is_client_error:
                raise CodeRefused
            if answer.status_code != httpx.codes.OK:
                raise IssuerUnusable
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > MAX_DOCUMENT_BYTES:
                    raise IssuerUnusable
        document = json.loads(body)
        if not isinstance(document, dict):
            raise IssuerUnusable
        return document


def _endpoints_of(document: Mapping[str, Any]) -> Endpoints | None:
    """The endpoints of a discovery document; None where one is missing: the provider serves bearer tokens only."""
    addresses = [document.get(name) for name in ("authorization_endpoint", "token_endpoint")]
    methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    if not all(isinstance(address, str) and address for address in addresses):
        return None
    takes_basic = isinstance(methods, list) and "client_secret_basic" in methods
    return Endpoints(str(addresses[0]), str(addresses[1]), takes_secret_in_body=not takes_basic)


def _usable_keys(document: Mapping[str, Any]) -> Keys:
    """The keys of a set that are acceptable for signing tokens, by id. Other kinds, which providers also publish, are skipped."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise IssuerUnusable
    usable: dict[str, jwt.PyJWK] = {}
    for entry in listed:
        if not isinstance(entry, dict) or not isinstance(entry.get("kid"), str):
            continue
        algorithm = ALGORITHM_OF.get((str(entry.get("kty")), str(entry.get("crv", ""))))
        if algorithm is None or entry.get("use", "sig") != "sig" or entry.get("alg", algorithm) != algorithm:
            continue
        try:
            key = jwt.PyJWK(entry, algorithm=algorithm)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        if isinstance(key.key, RSAPublicKey) and key.key.key_size < MIN_RSA_BITS:
            continue
        usable[entry["kid"]] = key
    return usable
