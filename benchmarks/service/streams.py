"""Cost of 500 open event streams on the real service, and the delay until they report a change.

    python -m benchmarks.service.streams [--save]

One uvicorn worker serves 500 streams, each of its own job. Memory, threads and connections to the database are read
before and with the streams; then all jobs move on at once, some rounds long, and the streams' readers note when they
hear of it. Readers and database share the machine's cores with the server.
"""

import argparse
import asyncio
import json
import statistics
import time
from typing import Any
from uuid import UUID

import psycopg

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import RESULTS
from benchmarks.service.seeding import Seeded, seed_jobs
from benchmarks.service.servers import Served, Stack, served, stack

RESULT = RESULTS / "streams.json"
STREAMS = 500
ROUND_SECONDS = 30.0


class Reader:
    """One stream and what it has reported.

    Args:
        job_id: The watched job.
    """

    def __init__(self, job_id: UUID) -> None:
        self._job_id = job_id
        self.seen: dict[int, float] = {}

    async def read(self, port: int, key: str) -> None:
        """Read until the server ends the stream or this is cancelled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET /v1/jobs/{self._job_id}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n"
        writer.write(head.encode())
        try:
            while line := await reader.readline():
                if line.startswith(b"data: "):
                    step = json.loads(line[6:])["progress"]["step"]
                    self.seen.setdefault(step, time.monotonic())
        finally:
            writer.close()


def footprint(server: Served, made: Stack) -> dict[str, Any]:
    """Memory, threads and connections now."""
    with psycopg.connect(made.conninfo) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert row is not None
    return {
        "resident_megabytes": round(server.resident_bytes() / 1e6, 1),
        "threads": server.threads(),
        "database_connections": row[0],
    }


def move_on(made: Stack, step: int) -> float:
    """Every job begins a step; the moment at which that was committed."""
    with psycopg.connect(made.conninfo) as connection:
        connection.execute("UPDATE jobs SET step = %s", (step,))
    return time.monotonic()


async def all_heard(readers: list[Reader], step: int) -> None:
    """Wait until everybody knows of a step."""
    async with asyncio.timeout(ROUND_SECONDS):
        while not all(step in reader.seen for reader in readers):  # noqa: ASYNC110 - 500 events to wait for
            await asyncio.sleep(0.05)


async def measure(server: Served, made: Stack, seeded: Seeded, *, rounds: int) -> dict[str, Any]:
    """Open the streams, look, and move the jobs on."""
    warm = Reader(seeded.job_ids[0])
    task = asyncio.create_task(warm.read(server.port, seeded.key))
    await all_heard([warm], 0)
    task.cancel()
    before = await asyncio.to_thread(footprint, server, made)
    readers = [Reader(job_id) for job_id in seeded.job_ids]
    tasks = []
    for reader in readers:
        tasks.append(asyncio.create_task(reader.read(server.port, seeded.key)))
        await asyncio.sleep(0.005)
    await all_heard(readers, 0)
    delays: list[float] = []
    processor = server.processor_seconds()
    began = time.monotonic()
    for step in range(1, rounds + 1):
        committed = await asyncio.to_thread(move_on, made, step)
        await all_heard(readers, step)
        delays += [reader.seen[step] - committed for reader in readers]
        # Not in step with the server's own second.
        await asyncio.sleep(1.0 + 0.37 * (step % 3))
    share = (server.processor_seconds() - processor) / (time.monotonic() - began)
    with_streams = await asyncio.to_thread(footprint, server, made)
    assert not any(task.done() for task in tasks), "a stream was cut"
    for each in tasks:
        each.cancel()
    delays.sort()
    return {
        "before": before,
        "with_streams": with_streams,
        "kilobytes_per_stream": round(
            1000 * (with_streams["resident_megabytes"] - before["resident_megabytes"]) / len(readers), 1
        ),
        "server_core_share": round(share, 2),
        "delay_seconds": {
            "median": round(statistics.median(delays), 2),
            "p99": round(delays[int(len(delays) * 0.99)], 2),
            "longest": round(delays[-1], 2),
        },
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--rounds", type=int, default=20)
    wanted = parser.parse_args()
    load_before = load_average()
    with stack() as made:
        seeded = seed_jobs(made, count=STREAMS, step=0)
        with served("service.asgi:app", made.environment(), workers=1, log=made.folder / "api.log") as server:
            found = asyncio.run(measure(server, made, seeded, rounds=wanted.rounds))
    result = {
        "streams": STREAMS,
        "rounds": wanted.rounds,
        **found,
        "load_before": load_before,
        "machine": machine_facts(packages=("fastapi", "uvicorn", "sqlalchemy", "psycopg")),
    }
    print(json.dumps(result, indent=1))
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
