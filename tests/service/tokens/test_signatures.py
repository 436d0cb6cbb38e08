"""Who has signed a token: algorithms, keys, headers."""

import json

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from core.platform.access.errors import TokenRefused
from core.platform.access.roles import Role
from service.auth.tokens import MAX_TOKEN_LENGTH
from tests.service.oidc import new_key, public_entry
from tests.service.tokens.support import claims, forged, piece


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_kind_of_key_verifies_under_its_algorithm(provider, tokens, algorithm) -> None:
    provider.add_key("second", algorithm)
    assert tokens.verify(provider.token(claims(provider), name="second")).has(Role.OWNER)


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
