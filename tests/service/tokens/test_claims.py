"""What a token must say, and what of it is believed."""

from uuid import UUID

import pytest

from core.platform.access.errors import TokenRefused
from core.platform.access.roles import Role, Via
from service.auth.tokens import principal_of
from tests.service.tokens.support import AUDIENCE, NOW, claims, tokens_of


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


def test_an_id_token_answers_one_question_of_this_client(provider, tokens) -> None:
    right = {"nonce": "asked"}
    assert tokens.verify_sign_in(provider.token(claims(provider, **right)), nonce="asked").roles
    for changes in ({"azp": AUDIENCE}, {"aud": [AUDIENCE]}, {"aud": [AUDIENCE, "b"], "azp": AUDIENCE}):
        assert tokens.verify_sign_in(provider.token(claims(provider, **right, **changes)), nonce="asked")
    for changes in (
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": 7},
        {"nonce": "\ud800"},
        {"nonce": "asked", "azp": "another"},
        {"nonce": "asked", "azp": None, "aud": [AUDIENCE, "b"]},
        {"nonce": "asked", "aud": "b", "azp": AUDIENCE},
    ):
        with pytest.raises(TokenRefused):
            tokens.verify_sign_in(provider.token(claims(provider, **changes)), nonce="asked")
