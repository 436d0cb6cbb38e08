from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from core.clock import FixedClock
from core.db.session import Database
from tests.conftest import connected
from tests.core.platform.budget_requests.support import Office


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with connected(database_url, pool_size=4, max_overflow=60) as database:
        yield database


@pytest.fixture
def office(database: Database) -> Office:
    """A dataset with a cap of epsilon 2, one member, and short words for what people do."""
    return Office(database, FixedClock(datetime(2026, 3, 1, 12, tzinfo=UTC)))
