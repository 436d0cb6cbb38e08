"""A local provider of identities: real HTTP, real keys, as wrong as a test wants it."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ALGORITHMS = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


def new_key(algorithm: str, *, bits: int = 2048) -> Any:
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65537, key_size=bits)
    return (
        ec.generate_private_key(ec.SECP256R1())
        if algorithm == "ES256"
        else ed25519.Ed25519PrivateKey.generate()
    )


def public_entry(key: Any, *, name: str, algorithm: str) -> dict[str, Any]:
    """The key as a provider publishes it."""
    document: dict[str, Any] = json.loads(ALGORITHMS[algorithm].to_jwk(key.public_key()))
    document.pop("key_ops", None)
    return document | {"kid": name, "use": "sig", "alg": algorithm}


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

    def add_key(self, name: str, algorithm: str = "RS256") -> None:
        self.keys[name] = (algorithm, new_key(algorithm))

    def answer(self, path: str) -> bytes:
        self.asked.append(path)
        if self.body is not None:
            return self.body
        if path == "/.well-known/openid-configuration":
            document = {"issuer": self.address, "jwks_uri": f"{self.address}/keys"} | self.discovery
            return json.dumps(document).encode()
        listed = [
            public_entry(key, name=name, algorithm=algorithm) for name, (algorithm, key) in self.keys.items()
        ]
        return json.dumps({"keys": [*self.extra, *listed]}).encode()

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
            body = provider.answer(self.path)
            self.send_response(provider.status)
            if provider.status == 302:
                self.send_header("Location", f"{provider.address}/elsewhere")
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
