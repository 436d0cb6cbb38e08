import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from core.clock import FixedClock
from core.db.session import Database
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import pepper_from
from tests.conftest import connected

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PEPPER = pepper_from(b"m" * 32)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with connected(database_url) as database:
        yield database


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
def directory(clock: FixedClock) -> KeyDirectory:
    return KeyDirectory(pepper=PEPPER, clock=clock, entropy=os.urandom)
