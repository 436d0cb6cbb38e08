from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from core.clock import FixedClock
from core.db.session import Database
from tests.conftest import connected
from tests.core.jobs.support import Desk
from tests.memory_queue import MemoryQueue


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with connected(database_url, pool_size=4, max_overflow=60) as database:
        yield database


@pytest.fixture
def desk(database: Database) -> Desk:
    """A dataset with a cap of epsilon 5, and short words for everything done to jobs."""
    return Desk(database=database, queue=MemoryQueue(), clock=FixedClock(datetime(2026, 3, 1, tzinfo=UTC)))
