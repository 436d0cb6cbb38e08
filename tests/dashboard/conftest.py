"""The pages over the same application as the tests of the API."""

from collections.abc import Callable

import pytest

from core.platform.access.roles import Role
from tests.dashboard.visitor import Visitor, enter
from tests.service.conftest import (
    _logs_as_served,
    database,
    database_url,
    peopled_template,
    shared_world,
    world,
)
from tests.service.world import World

__all__ = ["_logs_as_served", "database", "database_url", "peopled_template", "shared_world", "world"]


@pytest.fixture
def sign_in(world: World) -> Callable[..., Visitor]:
    """Signs a role, or several in one key, in with a key of its own; owner, analyst and admin as the world's own."""

    def signed_in(*roles: str) -> Visitor:
        if len(roles) == 1 and roles[0] in {"owner", "analyst", "admin", "stranger"}:
            return enter(world, getattr(world, roles[0]))
        return enter(world, world.caller(*(Role(role) for role in roles)))

    return signed_in
