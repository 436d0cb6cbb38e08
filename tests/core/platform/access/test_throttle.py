import threading
from datetime import timedelta

import pytest

from core.db.session import Database
from core.db.tables import LoginThrottle as Row
from core.platform.access.errors import LoginThrottled
from core.platform.access.throttle import FREE_FAILURES, LoginThrottle, network_of
from tests.core.platform.access.conftest import PEPPER


@pytest.fixture
def throttle(clock) -> LoginThrottle:
    return LoginThrottle(pepper=PEPPER, clock=clock)


def attempt(database, throttle, *, address="192.0.2.1", prefix="01234567") -> float:
    """Begin a login that fails. Returns the seconds to wait, or 0 where it was let through."""
    try:
        with database.transaction() as session:
            throttle.begin(session, throttle.subjects(address=address, prefix=prefix))
    except LoginThrottled as refusal:
        return refusal.retry_after_seconds
    return 0


def test_the_first_failures_are_free_and_then_the_wait_doubles(database, throttle, clock):
    assert [attempt(database, throttle) for _ in range(FREE_FAILURES)] == [0] * FREE_FAILURES
    waits = []
    for _ in range(12):
        waits.append(attempt(database, throttle))
        assert attempt(database, throttle) == waits[-1], "a refused attempt makes nobody wait longer"
        clock.advance(seconds=waits[-1])
        assert attempt(database, throttle) == 0
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]


def test_who_knows_a_prefix_keeps_its_owner_out_for_a_minute_at_most(database, throttle, clock):
    for number in range(200):
        clock.advance(seconds=attempt(database, throttle, address=f"198.51.100.{number}"))
        attempt(database, throttle, address=f"198.51.100.{number}")
    assert 0 < attempt(database, throttle, address="192.0.2.1") <= 60


def test_one_address_is_throttled_whatever_prefix_it_tries(database, throttle):
    for number in range(FREE_FAILURES):
        assert attempt(database, throttle, prefix=f"{number:08x}") == 0
    assert attempt(database, throttle, prefix="ffffffff") == 1
    assert attempt(database, throttle, prefix=None) == 1
    assert attempt(database, throttle, address="192.0.2.2", prefix="ffffffff") == 0


def test_a_success_gives_back_its_attempt_and_clears_its_key_only(database, throttle):
    subjects = throttle.subjects(address="192.0.2.1", prefix="01234567")
    for _ in range(FREE_FAILURES - 1):
        attempt(database, throttle)
    with database.transaction() as session:
        throttle.begin(session, subjects)
    with database.transaction() as session:
        throttle.succeed(session, subjects)
    assert attempt(database, throttle, address="192.0.2.2") == 0, "the key is forgiven"
    assert attempt(database, throttle, prefix=None) == 0, "the attempt was given back"
    assert attempt(database, throttle, prefix=None) == 1, "the address's failures were not"


def test_failures_are_forgotten_after_an_hour_and_deleted_after_a_day(database, throttle, clock):
    for _ in range(FREE_FAILURES):
        attempt(database, throttle)
    clock.advance(seconds=3600)
    assert [attempt(database, throttle) for _ in range(FREE_FAILURES)] == [0] * FREE_FAILURES
    assert attempt(database, throttle) == 1
    clock.advance(seconds=24 * 3600 + 1)
    attempt(database, throttle, address="192.0.2.9", prefix=None)
    with database.read_only() as session:
        assert session.query(Row).count() == 1


def test_a_crowd_that_comes_at_once_gets_no_more_tries(database_url, clock):
    """As if from several processes: each has its own connections and its own throttle."""
    outcomes = []
    start = threading.Barrier(16)

    def process() -> None:
        own = Database(database_url, pool_size=1)
        start.wait()
        outcomes.extend(attempt(own, LoginThrottle(pepper=PEPPER, clock=clock)) for _ in range(4))
        own.close()

    threads = [threading.Thread(target=process) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(outcomes), outcomes.count(0)) == (64, FREE_FAILURES)


def test_the_table_tells_nobody_who_failed(database, throttle):
    attempt(database, throttle, address="192.0.2.77", prefix="0a1b2c3d")
    with database.read_only() as session:
        for row in session.query(Row):
            assert len(row.subject) == 32
            assert b"192.0.2.77" not in row.subject


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_networks(address, network):
    assert network_of(address) == network


def test_waits_are_in_whole_seconds(database, throttle, clock):
    for _ in range(FREE_FAILURES):
        attempt(database, throttle)
    clock.advance(seconds=timedelta(milliseconds=500).total_seconds())
    assert attempt(database, throttle) == 1
