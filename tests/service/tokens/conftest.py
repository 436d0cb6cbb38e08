"""A provider of identities that runs here, and what reads its tokens."""

from collections.abc import Iterator

import pytest

from core.clock import FixedClock
from service.auth.tokens import Tokens
from tests.service.oidc import Provider, served
from tests.service.tokens.support import tokens_of
from tests.service.world import NOON


@pytest.fixture
def provider() -> Iterator[Provider]:
    with served(Provider()) as provider:
        provider.add_key("first")
        yield provider


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
def tokens(provider: Provider, clock: FixedClock) -> Tokens:
    return tokens_of(provider, clock)
