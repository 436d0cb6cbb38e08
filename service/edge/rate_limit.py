"""Rate limits per API key: a token bucket in Redis, shared by all processes, at far less than one round trip per request.

Each key has a token bucket in Redis that refills evenly and holds one minute's worth. A process leases a few tokens at a
time (a twentieth of a second's worth) and spends them locally; tokens left after a second are forfeited. So a key never
gets more than its bucket holds, and a busy key costs twenty round trips a second, not hundreds. A refusal is cached until
it expires, so a client that keeps hammering costs nothing either.

While Redis is unavailable, each process falls back to a bucket of its own: with n processes a key can then send n times
as much, which is better than no limit and better than no service. See docs/decisions/rate-limits.md.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Final, Protocol
from uuid import UUID

from redis import Redis
from redis.exceptions import RedisError

from core.logs import get_logger
from core.platform.access.errors import RateExceeded

LEASE_SECONDS: Final = 0.05
LEASE_KEPT_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 5.0
REDIS_SECONDS: Final = 0.25
CAPACITY: Final = 16_384

# Refills the bucket and takes a lease in one atomic step, by the Redis server's clock.
_TAKE: Final = """
local capacity, rate, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(bucket[1]) or capacity, tonumber(bucket[2]) or now
level = math.min(capacity, level + math.max(0, now - at) * rate)
local granted = math.min(wanted, math.floor(level))
redis.call('HSET', KEYS[1], 'level', string.format('%.6f', level - granted), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / rate * 1000) + 1000)
if granted > 0 then return {granted, 0} end
return {0, math.ceil((1 - level) / rate * 1000)}
"""


class Bucket(Protocol):
    """A source of leases."""

    def take(self, key_id: UUID, wanted: int) -> tuple[int, float]:
        """The number of granted tokens, and, if none, the seconds to wait."""


class SharedBucket:
    """One bucket per key in Redis, for all processes; `rate` tokens are added per second, up to the capacity."""

    def __init__(self, redis: Redis, *, capacity: int, rate: float) -> None:
        self._script: Any = redis.register_script(_TAKE)
        self._capacity = capacity
        self._rate = rate

    def take(self, key_id: UUID, wanted: int) -> tuple[int, float]:
        """Take a lease.

        Raises:
            RedisError: Redis does not respond.
        """
        granted, wait = self._script(keys=[f"rate:{key_id.hex}"], args=[self._capacity, self._rate, wanted])
        return int(granted), int(wait) / 1000


class OwnBucket:
    """One bucket per key in this process; `rate` tokens are added per second, up to the capacity."""

    def __init__(self, *, capacity: int, rate: float, now: Callable[[], float]) -> None:
        self._capacity = capacity
        self._rate = rate
        self._now = now
        self._lock = threading.Lock()
        self._levels: OrderedDict[UUID, tuple[float, float]] = OrderedDict()

    def take(self, key_id: UUID, wanted: int) -> tuple[int, float]:
        """Take a lease."""
        now = self._now()
        with self._lock:
            level, at = self._levels.pop(key_id, (float(self._capacity), now))
            level = min(self._capacity, level + (now - at) * self._rate)
            granted = min(wanted, floor(level))
            self._levels[key_id] = (level - granted, now)
            if len(self._levels) > CAPACITY:
                self._levels.popitem(last=False)
        return granted, 0.0 if granted else (1 - level) / self._rate


@dataclass(slots=True)
class _Lease:
    left: int = 0
    until: float = 0.0
    refused_until: float = 0.0


class RateLimits:
    """Counts the requests of each key. Thread-safe.

    Args:
        per_minute: Requests per key and minute; also the burst after an idle minute.
        redis: Shared by all processes; None for limits per process.
    """

    def __init__(
        self, *, per_minute: int, redis: Redis | None, now: Callable[[], float] = time.monotonic
    ) -> None:
        rate = per_minute / 60
        self._now = now
        self._wanted = max(1, floor(rate * LEASE_SECONDS))
        self._redis = redis
        self._shared = None if redis is None else SharedBucket(redis, capacity=per_minute, rate=rate)
        self._own = OwnBucket(capacity=per_minute, rate=rate, now=now)
        self._shared_away_until = float("-inf")
        self._lock = threading.Lock()
        self._leases: OrderedDict[UUID, _Lease] = OrderedDict()

    def spend(self, key_id: UUID) -> bool:
        """Count a request against this process's lease; False if a new lease is needed. Never blocks.

        Raises:
            RateExceeded: The key has to wait; states for how long.
        """
        now = self._now()
        with self._lock:
            lease = self._lease_of(key_id)
            if now < lease.refused_until:
                raise RateExceeded(retry_after_seconds=ceil(lease.refused_until - now))
            if lease.left == 0 or now >= lease.until:
                return False
            lease.left -= 1
            return True

    def count(self, key_id: UUID) -> None:
        """Count a request, taking a lease from Redis if necessary.

        Raises:
            RateExceeded: The key has to wait; states for how long.
        """
        if self.spend(key_id):
            return
        # Outside the lock, so that other keys do not wait for Redis. Two threads of one key may then take a lease each.
        granted, wait = self._take(key_id)
        now = self._now()
        with self._lock:
            lease = self._lease_of(key_id)
            if granted == 0:
                lease.refused_until = now + wait
                raise RateExceeded(retry_after_seconds=max(1, ceil(wait)))
            lease.left, lease.until = granted - 1, now + LEASE_KEPT_SECONDS

    def close(self) -> None:
        """Close the connections to Redis."""
        if self._redis is not None:
            self._redis.close()

    def _lease_of(self, key_id: UUID) -> _Lease:
        lease = self._leases.get(key_id)
        if lease is None:
            lease = self._leases[key_id] = _Lease()
            if len(self._leases) > CAPACITY:
                self._leases.popitem(last=False)
        return lease

    def _take(self, key_id: UUID) -> tuple[int, float]:
        if self._shared is not None and self._now() >= self._shared_away_until:
            try:
                return self._shared.take(key_id, self._wanted)
            except RedisError as error:
                # Back off: retrying at once would make every request wait for the timeout.
                self._shared_away_until = self._now() + RETRY_SECONDS
                get_logger().warning("rate-limits-not-shared", kind=type(error).__name__)
        return self._own.take(key_id, self._wanted)


def redis_of(broker_url: str) -> Redis | None:
    """The job queue's Redis, or None if the queue is not Redis. Does not connect yet."""
    if broker_url.startswith("redis+socket://"):
        address, _, query = broker_url.removeprefix("redis+socket://").partition("?")
        database = dict(part.partition("=")[::2] for part in query.split("&")).get("virtual_host", "0")
        url = f"unix://{address}?db={database}"
    elif broker_url.startswith(("redis://", "rediss://")) and ";" not in broker_url:
        url = broker_url
    else:
        return None
    return Redis.from_url(url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS)
