"""A closed-loop HTTP load generator on raw sockets, much cheaper than any server it measures; run as its own process.

    python -m benchmarks.service.http_load PORT SECONDS CONNECTIONS   # paths and key as JSON on standard input

Each connection sends its next request as soon as the answer to the last one is complete.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any


class Caller(asyncio.Protocol):
    """One connection that asks without pause until the end.

    Args:
        requests: Encoded requests to draw from.
        latencies: Where seconds of answers go.
        until: When to stop, on the monotonic clock.
    """

    def __init__(self, requests: Sequence[bytes], latencies: list[float], until: float) -> None:
        self._requests = requests
        self._latencies = latencies
        self._until = until
        self._pending = b""
        self._sent = 0.0
        self._transport: Any = None
        self.failures: Counter[str] = Counter()
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask the first question."""
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Take a piece; ask again when the answer is whole."""
        self._pending += data
        head_end = self._pending.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = self._pending[:head_end].lower()
        at = head.index(b"content-length:") + 15
        line_end = head.find(b"\r\n", at)
        length = int(head[at : line_end if line_end > 0 else None])
        if len(self._pending) < head_end + 4 + length:
            return
        now = time.monotonic()
        if head[9:12] == b"200":
            self._latencies.append(now - self._sent)
        else:
            self.failures[head[9:12].decode()] += 1
        self._pending = b""
        if now < self._until:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """A lost connection is a failure unless it is the end."""
        if time.monotonic() < self._until:
            self.failures["connection lost"] += 1
        if not self.done.done():
            self.done.set_result(exc)

    def _ask(self) -> None:
        self._sent = time.monotonic()
        self._transport.write(random.choice(self._requests))


async def load(port: int, seconds: float, connections: int, requests: Sequence[bytes]) -> dict[str, Any]:
    """Ask for this long; the number of answers a second, their latencies, and how many failed."""
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    began = time.monotonic()
    made = [
        await loop.create_connection(lambda: Caller(requests, latencies, began + seconds), "127.0.0.1", port)
        for _ in range(connections)
    ]
    callers = [caller for _, caller in made]
    await asyncio.gather(*(caller.done for caller in callers))
    took = time.monotonic() - began
    latencies.sort()
    return {
        "requests_per_second": len(latencies) / took,
        "p50_milliseconds": 1000 * latencies[len(latencies) // 2],
        "p99_milliseconds": 1000 * latencies[int(len(latencies) * 0.99)],
        "failures": sum((caller.failures for caller in callers), Counter()),
        "generator_cpu_share": time.process_time() / took,
    }


def main() -> None:
    """Read what to ask, ask, print the figures as JSON."""
    port, seconds, connections = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    asked = json.load(sys.stdin)
    requests = [
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {asked['key']}\r\n\r\n".encode()
        for path in asked["paths"]
    ]
    print(json.dumps(asyncio.run(load(port, seconds, connections, requests))))


if __name__ == "__main__":
    main()
