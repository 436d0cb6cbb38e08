from collections.abc import Iterator

import pytest

from core.db.session import Database
from tests.conftest import connected


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with connected(database_url, pool_size=4, max_overflow=60) as database:
        yield database
