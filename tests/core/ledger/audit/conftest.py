from collections.abc import Iterator

import pytest

from core.db.session import Database


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4, max_overflow=60)
    yield database
    database.close()
