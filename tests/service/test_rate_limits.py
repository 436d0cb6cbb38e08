"""How often a key may ask, over several processes, with Redis there and away."""

import logging
import threading
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from redis import Redis
from redis.exceptions import ConnectionError as RedisAway

from core.platform.access.errors import RateExceeded
from service.app import create_app
from service.edge.rate_limit import LEASE_KEPT_SECONDS, OwnBucket, RateLimits, redis_of
from tests.memory_queue import MemoryQueue
from tests.service.world import Caller, World, require_problem


class Time:
    """A clock that only goes forward, when it is told to."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def redis(broker_url: str) -> Redis:
    found = redis_of(broker_url)
    assert found is not None
    return found


def admitted(limits: RateLimits, key_id, attempts: int) -> int:
    count = 0
    for _ in range(attempts):
        try:
            limits.count(key_id)
        except RateExceeded:
            continue
        count += 1
    return count


def test_a_minutes_worth_may_come_at_once_and_then_it_flows(redis) -> None:
    time = Time()
    limits, key_id = RateLimits(per_minute=60, redis=None, now=time), uuid4()
    assert admitted(limits, key_id, 100) == 60
    with pytest.raises(RateExceeded) as refusal:
        limits.count(key_id)
    assert refusal.value.retry_after_seconds == 1
    time.seconds += 1
    assert admitted(limits, key_id, 5) == 1
    time.seconds += 10
    assert admitted(limits, key_id, 50) == 10
    time.seconds += 3600
    assert admitted(limits, key_id, 100) == 60
    assert admitted(limits, uuid4(), 1) == 1, "each key has its own"


def test_all_processes_share_one_count(redis) -> None:
    """The bucket of a slow rate does not fill while the test runs, however slow the machine is."""
    key_id = uuid4()
    processes = [RateLimits(per_minute=2, redis=redis) for _ in range(8)]
    assert sum(admitted(process, key_id, 3) for process in processes) in {2, 3}


def test_processes_and_threads_at_once_get_no_more_than_the_bucket_holds(redis) -> None:
    key_id, time = uuid4(), Time()
    processes = [RateLimits(per_minute=6000, redis=redis, now=time) for _ in range(4)]
    counts: list[int] = []

    def hammer(process: RateLimits) -> None:
        counts.append(admitted(process, key_id, 2000))

    began = float(redis.time()[0])
    threads = [threading.Thread(target=hammer, args=(process,)) for process in processes for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flowed = (float(redis.time()[0]) + 1 - began) * 100
    # A refusal is remembered until the local clock, which stands still here, has passed: so a few may go unused.
    assert 4000 < sum(counts) <= 6000 + flowed


def test_a_busy_key_costs_few_round_trips(redis) -> None:
    limits, key_id = RateLimits(per_minute=30_000, redis=redis, now=Time()), uuid4()
    before = redis.info("commandstats")
    assert admitted(limits, key_id, 1000) == 1000
    after = redis.info("commandstats")

    def scripts(stats) -> int:
        return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("evalsha", "eval"))

    assert scripts(after) - scripts(before) <= 1000 / 25 + 2


def test_what_is_left_of_a_lease_is_given_up(redis) -> None:
    time = Time()
    limits, key_id = RateLimits(per_minute=30_000, redis=redis, now=time), uuid4()
    limits.count(key_id)
    assert limits.spend(key_id)
    time.seconds += LEASE_KEPT_SECONDS
    assert not limits.spend(key_id)


def test_a_refused_caller_who_hammers_on_costs_nothing(redis) -> None:
    limits, key_id = RateLimits(per_minute=1, redis=redis, now=Time()), uuid4()
    limits.count(key_id)
    with pytest.raises(RateExceeded):
        limits.count(key_id)
    before = redis.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert admitted(limits, key_id, 500) == 0
    with pytest.raises(RateExceeded):
        limits.spend(key_id)
    assert redis.info("commandstats")["cmdstat_evalsha"]["calls"] == before


def test_buckets_leave_redis_when_they_are_full_again(redis) -> None:
    key_id = uuid4()
    RateLimits(per_minute=600, redis=redis).count(key_id)
    assert 0 < redis.pttl(f"rate:{key_id.hex}") <= 61_000


def test_without_redis_each_process_limits_by_itself_and_says_so(log_text) -> None:
    away = Redis(unix_socket_path="/nowhere/redis.sock", socket_connect_timeout=0.05)
    with pytest.raises(RedisAway):
        away.ping()
    time = Time()
    limits, key_id = RateLimits(per_minute=60, redis=away, now=time), uuid4()
    assert admitted(limits, key_id, 100) == 60
    assert log_text().count("rate-limits-not-shared") == 1, "asked once, not for every request"
    time.seconds += 6
    assert admitted(limits, key_id, 100) == 6
    assert log_text().count("rate-limits-not-shared") == 2


def test_own_buckets_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr("service.edge.rate_limit.CAPACITY", 3)
    bucket = OwnBucket(capacity=5, rate=1, now=Time())
    emptied = uuid4()
    bucket.take(emptied, 5)
    for others, left in ((2, 0), (3, 5)):
        for _ in range(others):
            bucket.take(uuid4(), 1)
        assert bucket.take(emptied, 5)[0] == left, "three are kept, and the oldest is forgotten"


@pytest.mark.parametrize(
    ("broker", "options"),
    [
        ("redis+socket:///run/r.sock", {"path": "/run/r.sock", "db": 0}),
        ("redis+socket:///run/r.sock?virtual_host=3", {"path": "/run/r.sock", "db": 3}),
        ("redis://:secret@host:6380/2", {"host": "host", "port": 6380, "db": 2, "password": "secret"}),
    ],
)
def test_the_brokers_address_is_understood(broker, options) -> None:
    found = redis_of(broker)
    assert found is not None
    assert options.items() <= found.connection_pool.connection_kwargs.items()


def test_other_brokers_have_no_redis() -> None:
    assert [redis_of(url) for url in ("memory://", "pgmq://host/db", "redis://a;redis://b")] == [None] * 3


def test_a_rate_limited_key_gets_a_retry_after(world: World, settings, caplog) -> None:
    caplog.set_level(logging.CRITICAL)
    slow = settings.model_copy(update={"requests_per_minute": 3})
    app = create_app(slow, database=world.database, queue=MemoryQueue(), store=world.store, clock=world.clock)
    with TestClient(app) as client:
        owner = Caller(client, world.owner.key, world.owner.principal_id)
        assert [owner.get("/v1/session").status_code for _ in range(3)] == [200] * 3
        answer = owner.get("/v1/session")
        problem = require_problem(answer, status=429, code="rate-exceeded")
        assert 1 <= int(answer.headers["retry-after"]) <= 20
        assert problem["facts"] == {"retry_after_seconds": int(answer.headers["retry-after"])}
        other = Caller(client, world.admin.key, world.admin.principal_id)
        assert other.get("/v1/session").status_code == 200
        assert client.get("/v1/health").status_code == 200


def test_every_operation_that_asks_who_is_there_says_that_it_may_be_too_often(world: World) -> None:
    document = world.client.get("/v1/openapi.json").json()
    for path, methods in document["paths"].items():
        for operation in methods.values():
            # An enrolment is accepted without a key; its tries are throttled by address.
            asks = operation.get("security") and not operation["operationId"].startswith("accept_enrolment")
            if path.startswith("/v1/") and asks:
                examples = operation["responses"]["429"]["content"]["application/problem+json"]["examples"]
                assert "rate-exceeded" in examples, path
