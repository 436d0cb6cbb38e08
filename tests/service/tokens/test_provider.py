"""The keys of the provider: kept, asked for again, and a provider that is away or answers nonsense."""

import socket

import pytest

from core.platform.access.errors import IssuerUnavailable, TokenRefused
from service.auth.issuer import Issuer
from tests.service.oidc import new_key, public_entry
from tests.service.tokens.support import NOW, claims, forged


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
