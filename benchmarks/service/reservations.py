"""Reservations per second through the ledger, beside a bare psycopg loop with the same lock, read and insert.

    python -m benchmarks.service.reservations [--save]

32 clients in four processes on one Postgres with its usual durability: all on one dataset, then each on its own; the
ledger and the loop in turns. Then the cost of one admission with 10, 1,000 and 100,000 entries in the ledger.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Json

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import RESULTS
from benchmarks.service.reserving import SMALL, ours
from benchmarks.service.seeding import plan
from benchmarks.service.servers import Stack, stack
from core.clock import SystemClock
from core.db.session import Database
from core.dp import mechanism as mechanisms
from core.dp.filters import AdmissionRule
from core.ledger import governance, ledger_queries
from core.ledger.entries import next_entry
from core.ledger.hash_chain import Head
from core.ledger.reservation import Balance, EntryKind, Movement, Reservation

RESULT = RESULTS / "reservations.json"
PROCESSES, CLIENTS = 4, 32
LENGTHS = (10, 1_000, 100_000)
KINDS = ("understudy", "bare")


def open_populations(database: Database, count: int) -> list[UUID]:
    """Fresh populations with room for everything."""
    clock, made = SystemClock(), []
    with database.transaction() as session:
        for _ in range(count):
            population_id = governance.open_population(session, rule=AdmissionRule.FILTERS, clock=clock)
            governance.set_cap(
                session, population_id, epsilon=1000.0, delta=0.5, by="bench", reason=None, clock=clock
            )
            made.append(population_id)
    return made


def run_round(kind: str, made: Stack, populations: list[UUID], seconds: float) -> dict[str, float]:
    """All clients for this long, each process with its share of them."""
    share = CLIENTS // PROCESSES
    command = [sys.executable, "-m", "benchmarks.service.reserving", kind, str(share), str(seconds)]
    processes = []
    for number in range(PROCESSES):
        own = populations[number * share : (number + 1) * share] if len(populations) > 1 else populations
        asked = {
            "database_url": made.database_url,
            "conninfo": made.conninfo,
            "populations": list(map(str, own)),
        }
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked))
        process.stdin.close()
        processes.append(process)
    took: list[float] = []
    for process in processes:
        assert process.stdout is not None
        took += json.load(process.stdout)
        assert process.wait() == 0
    took.sort()
    return {
        "per_second": len(took) / seconds,
        "p50_milliseconds": 1000 * took[len(took) // 2],
        "p99_milliseconds": 1000 * took[int(len(took) * 0.99)],
    }


def contest(made: Stack, database: Database, *, datasets: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Ledger and loop in turns on this many datasets."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for number in range(rounds):
        # Who goes first alternates, so that neither always meets the other's checkpoint.
        for kind in KINDS if number % 2 == 0 else reversed(KINDS):
            populations = open_populations(database, datasets)
            found[kind].append(run_round(kind, made, populations, seconds))
            print(datasets, kind, {k: round(v, 2) for k, v in found[kind][-1].items()}, file=sys.stderr)
    ratios = [
        a["per_second"] / b["per_second"] for a, b in zip(found["understudy"], found["bare"], strict=True)
    ]
    return {
        "datasets": datasets,
        **{kind: {name: _spread([each[name] for each in each_round]) for name in each_round[0]} for kind, each_round in found.items()},
        "understudy_over_bare": _spread(ratios, digits=3),
    }  # fmt: skip


def fill(made: Stack, population_id: UUID, *, entries: int) -> None:
    """Append entries with a whole chain and true totals, as the ledger would have, in bulk."""
    clock, mechanism = SystemClock(), mechanisms.to_json(plan().mechanism)
    columns = (
        "population_id, sequence, kind, job_id, epsilon_micros, delta_femtos, rdp_micros, mechanism, balance, at,"
        " previous_hash, hash"
    )
    with psycopg.connect(made.conninfo) as connection:
        row = connection.execute(
            "SELECT b.head_sequence, b.head_hash, e.balance FROM budgets b JOIN ledger_entries e"
            " ON e.population_id = b.population_id AND e.sequence = b.head_sequence WHERE b.population_id = %s",
            (population_id,),
        ).fetchone()
        assert row is not None
        head, balance = Head(sequence=row[0], hash=row[1]), Balance.from_numbers(row[2])
        with connection.cursor().copy(f"COPY ledger_entries ({columns}) FROM STDIN") as copy:
            while head.sequence < entries:
                job_id, now = uuid4(), clock.now()
                movement = Movement(kind=EntryKind.RESERVED, job_id=job_id, charge=SMALL)
                balance = balance.after(
                    None, Reservation(job_id=job_id, state=EntryKind.RESERVED, reserved=SMALL, in_force=SMALL)
                )
                entry = next_entry(
                    head,
                    population_id=population_id,
                    content=movement,
                    at=now,
                    balance=balance,
                    mechanism=mechanism,
                )
                copy.write_row((
                    population_id, entry.sequence, "RESERVED", job_id, SMALL.epsilon_micros, SMALL.delta_femtos, list(SMALL.rdp_micros),
                    Json(mechanism), balance.to_numbers(), now, entry.previous_hash, entry.hash,
                ))  # fmt: skip
                head = entry.head
        connection.execute(
            "UPDATE budgets SET head_sequence = %s, head_hash = %s WHERE population_id = %s",
            (head.sequence, head.hash, population_id),
        )
    with psycopg.connect(made.conninfo, autocommit=True) as connection:
        connection.execute("ANALYZE ledger_entries")


def lengths(made: Stack, database: Database, *, rounds: int, each: int) -> dict[str, Any]:
    """Milliseconds of one reservation with so many entries before it, the lengths in turns."""
    populations = dict(zip(LENGTHS, open_populations(database, len(LENGTHS)), strict=True))
    for entries, population_id in populations.items():
        fill(made, population_id, entries=entries)
    with database.read_only() as session:
        checked = ledger_queries.verify_chain(session, populations[LENGTHS[1]])
        assert checked.intact, checked
    reserve = ours(database)
    took: dict[int, list[float]] = {entries: [] for entries in LENGTHS}
    for number in range(rounds + 1):
        # The short one grows with what is measured, so it is made anew.
        populations[LENGTHS[0]] = open_populations(database, 1)[0]
        fill(made, populations[LENGTHS[0]], entries=LENGTHS[0])
        for _ in range(each):
            for entries, population_id in populations.items():
                begun = time.perf_counter()
                reserve(population_id)
                if number:  # the first round warms up
                    took[entries].append(1000 * (time.perf_counter() - begun))
    medians = {str(entries): round(statistics.median(times), 3) for entries, times in took.items()}
    shortest = medians[str(LENGTHS[0])]
    return {
        "median_milliseconds": medians,
        "longest_over_shortest": round(max(medians.values()) / shortest, 3),
        "reservations_each": rounds * each,
    }


def _spread(values: list[float], *, digits: int = 1) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), digits),
        "lowest": round(min(values), digits),
        "highest": round(max(values), digits),
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    wanted = parser.parse_args()
    load_before = load_average()
    with stack() as made:
        database = Database(made.database_url, pool_size=2, max_overflow=0)
        contests = [
            contest(made, database, datasets=datasets, rounds=wanted.rounds, seconds=wanted.seconds)
            for datasets in (1, CLIENTS)
        ]
        result = {
            "clients": CLIENTS,
            "processes": PROCESSES,
            "rounds": wanted.rounds,
            "seconds_per_round": wanted.seconds,
            "contests": contests,
            "entries": lengths(made, database, rounds=wanted.rounds, each=40),
            "load_before": load_before,
            "machine": machine_facts(packages=("psycopg", "sqlalchemy")),
        }
        database.close()
    print(json.dumps(result, indent=1))
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
