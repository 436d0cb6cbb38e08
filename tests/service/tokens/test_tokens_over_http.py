"""Tokens over HTTP: roles, refusals, a provider that is away."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from service.app import create_app
from service.auth.tokens import principal_of
from tests.memory_queue import MemoryQueue
from tests.service.tokens.support import AUDIENCE, ROLE_MAP, claims, forged
from tests.service.world import Caller, World, require_problem


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
        "held_until": None,
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
