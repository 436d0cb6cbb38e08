"""Whoever looks at a budget to spend from it keeps everybody else waiting until that is decided."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from core.errors import UnderstudyError
from core.ledger import ledger
from tests.core.ledger.support import new_population


def lock_impatiently(database, population):
    with database.transaction() as session:
        session.execute(text("SET LOCAL lock_timeout = '200ms'"))
        return ledger.lock(session, population)


def test_a_second_order_waits_for_the_first(database):
    population, other = new_population(database, epsilon=1.0), new_population(database, epsilon=1.0)
    with database.transaction() as first:
        ledger.lock(first, population)
        assert lock_impatiently(database, other).population_id == other, "another budget is free"
        with pytest.raises((DBAPIError, UnderstudyError)):
            lock_impatiently(database, population)
