"""A local provider of identities: real HTTP, real keys, real codes, as wrong as a test wants it."""

import base64
import hashlib
import itertools
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ALGORITHMS = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


DISTINCT_KEYS = 6
_TURNS = itertools.count()


def new_key(algorithm: str, *, bits: int = 2048) -> Any:
    """A private key that is none of the last few: to find the primes of RSA takes as long as a whole test of a token."""
    if algorithm == "RS256":
        return _rsa_key(next(_TURNS) % DISTINCT_KEYS, bits)
    return (
        ec.generate_private_key(ec.SECP256R1())
        if algorithm == "ES256"
        else ed25519.Ed25519PrivateKey.generate()
    )


@cache
def _rsa_key(turn: int, bits: int) -> rsa.RSAPrivateKey:
    del turn
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def public_entry(key: Any, *, name: str, algorithm: str) -> dict[str, Any]:
    """The key as a provider publishes it."""
    document: dict[str, Any] = json.loads(ALGORITHMS[algorithm].to_jwk(key.public_key()))
    document.pop("key_ops", None)
    return document | {"kid": name, "use": "sig", "alg": algorithm}


@dataclass
class Code:
    """An authorization code: what was asked, and whether it has been redeemed."""

    asked: Mapping[str, str]
    is_used: bool = False


@dataclass
class Provider:
    """What is served, and what was asked for."""

    address: str = ""
    keys: dict[str, tuple[str, Any]] = field(default_factory=dict)
    extra: list[Any] = field(default_factory=list)
    discovery: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    body: bytes | None = None
    asked: list[str] = field(default_factory=list)
    client: tuple[str, str | None] = ("understudy", None)
    account: dict[str, Any] = field(default_factory=dict)
    """Claims of the ID token of the account, over those of the flow."""
    codes: dict[str, Code] = field(default_factory=dict)
    error: str | None = None

    def add_key(self, name: str, algorithm: str = "RS256") -> None:
        self.keys[name] = (algorithm, new_key(algorithm))

    def answer(self, path: str) -> bytes:
        self.asked.append(path)
        if self.body is not None:
            return self.body
        if path == "/.well-known/openid-configuration":
            document = {
                "issuer": self.address,
                "jwks_uri": f"{self.address}/keys",
                "authorization_endpoint": f"{self.address}/authorize",
                "token_endpoint": f"{self.address}/token",
            } | self.discovery
            return json.dumps(document).encode()
        listed = [
            public_entry(key, name=name, algorithm=algorithm) for name, (algorithm, key) in self.keys.items()
        ]
        return json.dumps({"keys": [*self.extra, *listed]}).encode()

    def authorize(self, query: str) -> str:
        """Sign the account in at once. Returns where the browser is sent."""
        asked = dict(parse_qsl(query))
        assert asked["response_type"] == "code"
        assert asked["client_id"] == self.client[0]
        assert asked["code_challenge_method"] == "S256"
        answer = {"state": asked["state"], "iss": self.address}
        if self.error is not None:
            return f"{asked['redirect_uri']}?{urlencode(answer | {'error': self.error})}"
        code = secrets.token_urlsafe(16)
        self.codes[code] = Code(asked)
        return f"{asked['redirect_uri']}?{urlencode(answer | {'code': code})}"

    def redeem(self, form: Mapping[str, str], authorization: str | None) -> tuple[int, bytes]:
        """The token endpoint: one use, the right client, the right verifier (RFC 6749, 4.1.3; RFC 7636, 4.6)."""
        code = self.codes.get(form.get("code", ""))
        if code is None or code.is_used or not self._is_client(form, authorization):
            return 400, b'{"error": "invalid_grant"}'
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if challenge != code.asked["code_challenge"] or form["redirect_uri"] != code.asked["redirect_uri"]:
            return 400, b'{"error": "invalid_grant"}'
        code.is_used = True
        claims = {"iss": self.address, "aud": self.client[0], "nonce": code.asked["nonce"]} | self.account
        return 200, json.dumps({"token_type": "Bearer", "id_token": self.token(claims)}).encode()

    def _is_client(self, form: Mapping[str, str], authorization: str | None) -> bool:
        name, secret = self.client
        if secret is None:
            return form.get("client_id") == name and authorization is None
        if "client_secret_post" in self.discovery.get("token_endpoint_auth_methods_supported", ()):
            return (form.get("client_id"), form.get("client_secret")) == self.client
        pair = f"{quote_plus(name)}:{quote_plus(secret)}".encode()
        return authorization == f"Basic {base64.b64encode(pair).decode()}"

    def token(
        self,
        claims: Mapping[str, Any],
        *,
        name: str = "first",
        headers: Mapping[str, Any] | None = None,
    ) -> str:
        algorithm, key = self.keys[name]
        return jwt.encode(
            {key: value for key, value in claims.items() if value is not None},
            key,
            algorithm=algorithm,
            headers={"kid": name} | dict(headers or {}),
        )


@contextmanager
def served(provider: Provider) -> Iterator[Provider]:
    """Serve on the loopback address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/authorize?"):
                self.send_response(302)
                self.send_header("Location", provider.authorize(urlsplit(self.path).query))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = provider.answer(self.path)
            self.send_response(provider.status)
            if provider.status == 302:
                self.send_header("Location", f"{provider.address}/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            provider.asked.append(self.path)
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, body = provider.redeem(dict(parse_qsl(sent)), self.headers.get("Authorization"))
            self.send_response(status if provider.status == 200 else provider.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
