"""Bearer tokens of an identity provider, against a provider that runs here."""

import base64
import hashlib
import hmac
import json
import socket
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fastapi.testclient import TestClient
from httpx2 import Response

from core.access.errors import IssuerUnavailable, TokenRefused
from core.access.roles import Role, Via
from core.clock import FixedClock
from core.jobs.queue import MemoryQueue
from service.app import create_app
from service.auth.issuer import Issuer
from service.auth.tokens import MAX_TOKEN_LENGTH, Tokens, principal_of
from tests.service.oidc import Provider, new_key, public_entry, served
from tests.service.world import NOON, Caller, World, require_problem

AUDIENCE = "understudy"
NOW = int(NOON.timestamp())
ROLE_MAP = {"stats": "owner", "research": "analyst", "control": "auditor"}


@pytest.fixture
def provider() -> Iterator[Provider]:
    with served(Provider()) as provider:
        provider.add_key("first")
        yield provider


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


def tokens_of(provider: Provider, clock: FixedClock, *, roles_claim: str = "roles") -> Tokens:
    issuer = Issuer(provider.address, clock=clock, plain_allowed=True)
    return Tokens(issuer, audience=AUDIENCE, roles_claim=roles_claim, role_map=ROLE_MAP, clock=clock)


@pytest.fixture
def tokens(provider: Provider, clock: FixedClock) -> Tokens:
    return tokens_of(provider, clock)


def claims(provider: Provider, **changes: Any) -> dict[str, Any]:
    return {
        "iss": provider.address,
        "aud": AUDIENCE,
        "sub": "ada",
        "iat": NOW,
        "exp": NOW + 300,
        "roles": ["stats"],
    } | changes


def test_a_token_speaks_for_the_same_principal_every_time(provider, tokens) -> None:
    principal = tokens.verify(provider.token(claims(provider)))
    assert principal.roles == {Role.OWNER}
    assert principal.via is Via.TOKEN
    assert principal.key_id == principal.id == principal_of(provider.address, "ada")
    assert tokens.verify(provider.token(claims(provider, exp=NOW + 9))).id == principal.id
    assert tokens.verify(provider.token(claims(provider, sub="bob"))).id != principal.id
    assert principal_of("https://other.example", "ada") != principal.id


def test_ids_of_principals_never_change() -> None:
    assert principal_of("https://id.example", "ada") == UUID("67619d22-972a-5178-9d14-a210d52c7551")


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_kind_of_key_verifies_under_its_algorithm(provider, tokens, algorithm) -> None:
    provider.add_key("second", algorithm)
    assert tokens.verify(provider.token(claims(provider), name="second")).has(Role.OWNER)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "another service"},
        {"aud": ["another", "service"]},
        {"aud": None},
        {"iss": "https://other.example"},
        {"iss": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 256},
        {"exp": NOW - 60},
        {"exp": None},
        {"exp": "never"},
        {"exp": True},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"exp": 10**400},
        {"iat": NOW + 61},
        {"iat": None},
        {"iat": [1]},
        {"nbf": NOW + 61},
        {"nbf": "soon"},
    ],
    ids=str,
)
def test_a_claim_that_is_wrong_or_missing(provider, tokens, changes) -> None:
    with pytest.raises(TokenRefused):
        tokens.verify(provider.token(claims(provider, **changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": NOW - 59},
        {"iat": NOW + 60, "nbf": NOW + 60},
        {"aud": ["another", AUDIENCE]},
        {"exp": NOW + 0.5},
    ],
    ids=str,
)
def test_a_minute_of_leeway_and_a_list_of_audiences(provider, tokens, changes) -> None:
    assert tokens.verify(provider.token(claims(provider, **changes)))


@pytest.mark.parametrize(
    ("claim", "value", "roles"),
    [
        ("roles", ["stats", "control", "unknown", 7, None], {Role.OWNER, Role.AUDITOR}),
        ("roles", "research stats", {Role.ANALYST, Role.OWNER}),
        ("roles", [], set()),
        ("roles", {"stats": True}, set()),
        ("roles", ["admin", "owner"], set()),
        ("roles", ["stats"] * 1001, set()),
        ("realm_access.roles", ["stats"], {Role.OWNER}),
    ],
)
def test_roles_are_translated_and_never_taken_over(provider, clock, claim, value, roles) -> None:
    document = value if claim == "roles" else {"roles": value}
    changes = {"roles": None, claim.split(".")[0]: document}
    principal = tokens_of(provider, clock, roles_claim=claim).verify(
        provider.token(claims(provider, **changes))
    )
    assert principal.roles == roles


def piece(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def forged(provider: Provider, header: Any, sign: bytes = b"", **changes: Any) -> str:
    head = f"{piece(header)}.{piece(claims(provider, **changes))}"
    signature = hmac.digest(sign, head.encode(), hashlib.sha256) if sign else b""
    return f"{head}.{piece(signature)}"


def test_none_is_no_algorithm(provider, tokens) -> None:
    for name in ("none", "None", "NONE", "nOnE", "", None):
        for kid in ("first", None):
            with pytest.raises(TokenRefused):
                tokens.verify(forged(provider, {"alg": name, "kid": kid, "typ": "JWT"}))


def test_a_public_key_is_no_shared_secret(provider, tokens) -> None:
    public = provider.keys["first"][1].public_key()
    published = json.dumps(public_entry(provider.keys["first"][1], name="first", algorithm="RS256")).encode()
    secrets = [
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.PEM, PublicFormat.PKCS1),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        published,
    ]
    for secret in secrets:
        for algorithm in ("HS256", "RS256"):
            with pytest.raises(TokenRefused):
                tokens.verify(forged(provider, {"alg": algorithm, "kid": "first"}, secret))


def test_a_key_that_the_token_brings_along_is_not_used(provider, tokens) -> None:
    own = new_key("RS256")
    entry = public_entry(own, name="first", algorithm="RS256")
    for header in ({"jwk": entry}, {"jku": f"{provider.address}/evil"}, {"x5u": f"{provider.address}/evil"}):
        with pytest.raises(TokenRefused):
            tokens.verify(
                jwt.encode(claims(provider), own, algorithm="RS256", headers={"kid": "first"} | header)
            )
    assert not any("evil" in path for path in provider.asked)


def test_algorithm_and_kind_of_key_must_fit(provider, tokens) -> None:
    algorithm, key = provider.keys["first"]
    for other in ("RS384", "RS512", "PS256"):
        with pytest.raises(TokenRefused):
            tokens.verify(jwt.encode(claims(provider), key, algorithm=other, headers={"kid": "first"}))
    assert algorithm == "RS256"


def test_headers_that_ask_for_more_are_refused(provider, tokens) -> None:
    for headers in ({"crit": ["b64"], "b64": True}, {"typ": "logout+jwt"}, {"typ": 7}, {"kid": None}):
        with pytest.raises((TokenRefused, TypeError, jwt.PyJWTError)) as refusal:
            tokens.verify(provider.token(claims(provider), headers=headers))
        if refusal.type is not TokenRefused:  # the library refuses to sign it, so we spell it ourselves
            with pytest.raises(TokenRefused):
                tokens.verify(forged(provider, {"alg": "RS256", "kid": "first"} | headers))
    assert tokens.verify(provider.token(claims(provider), headers={"typ": "at+jwt"}))


def test_every_bit_of_a_signature_counts(provider, tokens) -> None:
    head, body, signature = provider.token(claims(provider)).split(".")
    other = provider.token(claims(provider, sub="eve")).split(".")
    for text in (
        f"{head}.{other[1]}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}.{other[2]}",
        f"{head}.{body}.{signature[:-8]}AAAAAAAA",
        f"..{signature}",
        "..",
        f"{piece(b'[]')}.{body}.{signature}",
        f"{piece(b'7')}.{body}.{signature}",
        f"{piece(b'{' * 5000)}.{body}.{signature}",
        f"{head}.{piece(b'[' * 5000)}.{signature}",
        f"\u00fc.{body}.{signature}",
    ):
        with pytest.raises(TokenRefused):
            tokens.verify(text)


def test_a_huge_token_is_refused_before_it_is_read(provider, tokens) -> None:
    huge = provider.token(claims(provider, padding="x" * MAX_TOKEN_LENGTH))
    with pytest.raises(TokenRefused):
        tokens.verify(huge)
    assert provider.asked == []
    assert tokens.verify(provider.token(claims(provider, padding="x" * 9000)))


# --- the provider's keys -----------------------------------------------------------------------------------------


def test_keys_are_kept_and_asked_for_again_when_old(provider, tokens, clock) -> None:
    token = provider.token(claims(provider, exp=NOW + 10_000))
    for _ in range(20):
        tokens.verify(token)
    assert len(provider.asked) == 2
    clock.advance(seconds=601)
    tokens.verify(token)
    assert len(provider.asked) == 4


def test_a_new_key_is_found_within_a_minute_and_an_old_one_goes(provider, tokens, clock) -> None:
    old = provider.token(claims(provider, exp=NOW + 10_000))
    tokens.verify(old)
    provider.add_key("second", "ES256")
    withdrawn = provider.keys.pop("first")
    new = provider.token(claims(provider, exp=NOW + 10_000), name="second")
    for _ in range(20):
        with pytest.raises(TokenRefused):
            tokens.verify(new)
    assert len(provider.asked) == 2, "unknown names do not make us ask more than once a minute"
    clock.advance(seconds=60)
    assert tokens.verify(new)
    assert len(provider.asked) == 4
    with pytest.raises(TokenRefused):
        tokens.verify(old)
    assert withdrawn


def test_a_provider_that_is_away(provider, tokens, clock) -> None:
    token = provider.token(claims(provider, exp=NOW + 100_000))
    provider.status = 500
    with pytest.raises(IssuerUnavailable):
        tokens.verify(token)
    asked = len(provider.asked)
    with pytest.raises(IssuerUnavailable):
        tokens.verify(token)
    assert len(provider.asked) == asked, "not asked again at once"
    provider.status = 200
    clock.advance(seconds=5)
    assert tokens.verify(token)
    provider.status = 500
    clock.advance(seconds=3599)
    assert tokens.verify(token), "known keys go on working for an hour"
    clock.advance(seconds=5)
    with pytest.raises(IssuerUnavailable):
        tokens.verify(token)


@pytest.mark.parametrize(
    "wrong",
    [
        {"body": b""},
        {"body": b"[]"},
        {"body": b"{" * 100_000},
        {"body": b"[" * 100_000},
        {"body": b"\xff\xfe"},
        {"body": b" " * (2**20 + 1)},
        {"status": 404},
        {"status": 302},
        {"discovery": {"issuer": "https://other.example"}},
        {"discovery": {"jwks_uri": "file:///etc/passwd"}},
        {"discovery": {"jwks_uri": "ftp://127.0.0.1/keys"}},
        {"discovery": {"jwks_uri": None}},
        {"discovery": {"jwks_uri": "http://[::1"}},
    ],
    ids=[
        "empty", "list", "braces", "brackets", "bytes", "huge", "404", "redirect",
        "issuer", "file", "ftp", "no keys", "broken address",
    ],
)  # fmt: skip
def test_a_provider_that_answers_nonsense_is_as_good_as_away(provider, tokens, wrong) -> None:
    for name, value in wrong.items():
        setattr(provider, name, value)
    with pytest.raises(IssuerUnavailable):
        tokens.verify(provider.token(claims(provider)))


def test_plain_http_is_for_the_one_machine_stack_alone(provider, clock) -> None:
    issuer = Issuer(provider.address, clock=clock, plain_allowed=False)
    with pytest.raises(IssuerUnavailable):
        issuer.key("first")
    assert provider.asked == []


def test_a_port_that_nobody_listens_on(clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(IssuerUnavailable):
        Issuer(f"http://127.0.0.1:{port}", clock=clock, plain_allowed=True).key("first")


def test_keys_of_other_kinds_are_passed_over(provider, tokens) -> None:
    weak = public_entry(new_key("RS256", bits=1024), name="weak", algorithm="RS256")
    good = public_entry(new_key("RS256"), name="x", algorithm="RS256")
    provider.extra = [
        weak,
        {"kty": "oct", "k": "c2VjcmV0", "kid": "shared", "alg": "HS256"},
        good | {"kid": "encrypts", "use": "enc"},
        good | {"kid": "other", "alg": "RS512"},
        {name: value for name, value in good.items() if name != "kid"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "off the curve"},
        {"kty": "RSA", "kid": "half"},
        {"kty": ["RSA"], "kid": "list", "crv": {}},
        "nonsense",
        None,
    ]
    assert tokens.verify(provider.token(claims(provider)))
    for name in ("weak", "shared", "encrypts", "other", "off the curve", "half", "list"):
        with pytest.raises(TokenRefused):
            tokens.verify(provider.token(claims(provider), headers={"kid": name}))
    with pytest.raises(TokenRefused):
        tokens.verify(forged(provider, {"alg": "HS256", "kid": "shared"}, b"secret"))


# --- over HTTP ---------------------------------------------------------------------------------------------------


@pytest.fixture
def client(world: World, settings, provider) -> Iterator[TestClient]:
    with_provider = settings.model_copy(
        update={"oidc_issuer": provider.address, "oidc_audience": AUDIENCE, "oidc_role_map": ROLE_MAP}
    )
    app = create_app(
        with_provider, database=world.database, queue=MemoryQueue(), store=world.store, clock=world.clock
    )
    with TestClient(app) as client:
        yield client


def get(client: TestClient, token: str, path: str = "/v1/session") -> Response:
    return client.get(path, headers={"Authorization": f"Bearer {token}"})


def test_a_token_opens_the_api_as_its_role(world, client, provider) -> None:
    answer = get(client, provider.token(claims(provider)))
    assert answer.json() == {
        "principal_id": str(principal_of(provider.address, "ada")),
        "roles": ["owner"],
        "scopes": [],
        "via": "token",
        "csrf_token": None,
    }
    dataset = client.post(
        "/v1/datasets",
        json={"name": "a", "domain": {"columns": []}, "declared_size": 9},
        headers={"Authorization": f"Bearer {provider.token(claims(provider, roles=['control']))}"},
    )
    require_problem(dataset, status=403, code="role-missing")
    assert Caller(client, world.owner.key, world.owner.principal_id).get("/v1/datasets").status_code == 200


def test_refusals_and_a_missing_provider_are_problems(client, provider) -> None:
    problem = require_problem(
        get(client, forged(provider, {"alg": "none"})), status=401, code="token-refused"
    )
    wrong = require_problem(
        get(client, provider.token(claims(provider, aud="x"))), status=401, code="token-refused"
    )
    assert {**problem, "request_id": ""} == {**wrong, "request_id": ""}, "why is not said"
    require_problem(get(client, provider.token(claims(provider, roles=[]))), status=403, code="role-missing")
    require_problem(get(client, "a.b.c" + "x" * 40_000), status=401, code="token-refused")
    require_problem(get(client, "nonsense"), status=401, code="key-refused")


def test_a_provider_that_is_away_is_503(client, provider) -> None:
    provider.status = 500
    answer = get(client, provider.token(claims(provider)))
    require_problem(answer, status=503, code="issuer-unavailable")
    assert answer.headers["retry-after"]


def test_without_a_provider_a_token_is_no_key(world, provider) -> None:
    require_problem(get(world.client, provider.token(claims(provider))), status=401, code="key-refused")
