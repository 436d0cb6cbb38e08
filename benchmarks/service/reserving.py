"""One process of clients of benchmarks/service/reservations.py; each client is a thread with its own connection.

python -m benchmarks.service.reserving KIND CLIENTS SECONDS   # address and populations as JSON on standard input
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Json

from benchmarks.service.seeding import plan
from core.clock import SystemClock
from core.db.session import Database
from core.dp import mechanism as mechanisms
from core.dp.charge import Charge
from core.ledger import ledger

LOCK = (
    "SELECT head_sequence, head_hash, epsilon_cap, delta_cap FROM budgets WHERE population_id = %s FOR UPDATE"
)
READ = "SELECT balance FROM ledger_entries WHERE population_id = %s AND sequence = %s"
INSERT = """
    INSERT INTO ledger_entries (population_id, sequence, kind, job_id, epsilon_micros, delta_femtos, rdp_micros, mechanism,
        balance, at, previous_hash, hash)
    VALUES (%s, %s, 'RESERVED', %s, %s, %s, %s, %s, %s, now(), %s, %s)
"""
MOVE_HEAD = "UPDATE budgets SET head_sequence = %s, head_hash = %s WHERE population_id = %s"
SMALL = Charge(epsilon_micros=1, delta_femtos=1, rdp_micros=(1,) * 6)
"""So small that hundreds of thousands fit."""


def bare(address: str) -> Callable[[UUID], None]:
    """The yardstick: the same lock, read and insert by psycopg alone, with nothing computed in between."""
    connection = psycopg.connect(address, prepare_threshold=1)
    mechanism = Json(mechanisms.to_json(plan().mechanism))
    rdp = list(SMALL.rdp_micros)

    def reserve(population_id: UUID) -> None:
        with connection.transaction():
            row = connection.execute(LOCK, (population_id,)).fetchone()
            assert row is not None
            sequence, head_hash = row[0], row[1]
            last = connection.execute(READ, (population_id, sequence)).fetchone()
            balance = last[0] if last is not None else [0] * 16
            entry = (population_id, sequence + 1, uuid4(), SMALL.epsilon_micros, SMALL.delta_femtos, rdp, mechanism,
                     balance, head_hash, head_hash)  # fmt: skip
            connection.execute(INSERT, entry)
            connection.execute(MOVE_HEAD, (sequence + 1, head_hash, population_id))

    return reserve


def ours(database: Database) -> Callable[[UUID], None]:
    """Reserve as an order does."""
    clock, mechanism = SystemClock(), mechanisms.to_json(plan().mechanism)

    def reserve(population_id: UUID) -> None:
        with database.transaction() as session:
            ledger.reserve(
                session, population_id=population_id, job_id=uuid4(), charge=SMALL, mechanism_json=mechanism,
                grant_id=None, clock=clock,
            )  # fmt: skip

    return reserve


def client(
    reserve: Callable[[UUID], None],
    population_id: UUID,
    begin: threading.Barrier,
    seconds: float,
    took: list[float],
) -> None:
    """Reserve without pause; the first few do not count."""
    for _ in range(3):
        reserve(population_id)
    begin.wait()
    now = time.monotonic()
    until = now + seconds
    while now < until:
        reserve(population_id)
        now, before = time.monotonic(), now
        took.append(now - before)


def main() -> None:
    """Run the clients, print each one's seconds per reservation as JSON."""
    kind, clients, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    asked: dict[str, Any] = json.load(sys.stdin)
    populations = [UUID(text) for text in asked["populations"]]
    database = Database(asked["database_url"], pool_size=clients, max_overflow=0)
    make = partial(bare, asked["conninfo"]) if kind == "bare" else partial(ours, database)
    begin = threading.Barrier(clients)
    took: list[list[float]] = [[] for _ in range(clients)]
    threads = [
        threading.Thread(
            target=client, args=(make(), populations[n % len(populations)], begin, seconds, took[n])
        )
        for n in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    print(json.dumps([seconds for each in took for seconds in each]))


if __name__ == "__main__":
    main()
