"""Status polls per second of the real service, beside a bare FastAPI endpoint with one authenticated select.

    python -m benchmarks.service.polling [--save]

Both are served by uvicorn with the same number of worker processes on the same Postgres, asked by the same load
generator for the same 1,000 jobs, in turns; load generator and database share the machine's cores with them.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections import Counter
from typing import Any

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import RESULTS
from benchmarks.service.seeding import Seeded, seed_jobs
from benchmarks.service.servers import served, stack

RESULT = RESULTS / "polling.json"
JOBS = 1000


def ask(port: int, seeded: Seeded, *, seconds: float, connections: int) -> dict[str, Any]:
    """One round of load in a process of its own."""
    asked = {"key": seeded.key, "paths": [f"/v1/jobs/{job_id}" for job_id in seeded.job_ids]}
    command = [
        sys.executable,
        "-m",
        "benchmarks.service.http_load",
        str(port),
        str(seconds),
        str(connections),
    ]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, input=json.dumps(asked))
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Median, lowest and highest over the rounds."""
    failures = sum((Counter(each["failures"]) for each in rounds), Counter())
    found: dict[str, Any] = {"failed": failures.total(), "failures": dict(failures)}
    for name in ("requests_per_second", "p50_milliseconds", "p99_milliseconds", "generator_cpu_share"):
        values = [each[name] for each in rounds]
        found[name] = {
            "median": round(statistics.median(values), 2),
            "lowest": round(min(values), 2),
            "highest": round(max(values), 2),
        }
    return found


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    wanted = parser.parse_args()
    rounds: dict[str, list[dict[str, Any]]] = {"understudy": [], "bare": []}
    load_before = load_average()
    with stack() as made:
        seeded = seed_jobs(made, count=JOBS)
        log, environment = made.folder / "api.log", made.environment()
        with (
            served("service.asgi:app", environment, workers=wanted.workers, log=log) as ours,
            served("benchmarks.service.bare_api:app", environment, workers=wanted.workers, log=log) as bare,
        ):
            ports = {"understudy": ours.port, "bare": bare.port}
            for port in ports.values():
                ask(port, seeded, seconds=2, connections=wanted.connections)
            for _ in range(wanted.rounds):
                for name, port in ports.items():
                    found = ask(port, seeded, seconds=wanted.seconds, connections=wanted.connections)
                    print(name, found, file=sys.stderr)
                    rounds[name].append(found)
    ratios = [
        a["requests_per_second"] / b["requests_per_second"]
        for a, b in zip(rounds["understudy"], rounds["bare"], strict=True)
    ]
    result = {
        "jobs": JOBS,
        "rounds": wanted.rounds,
        "seconds_per_round": wanted.seconds,
        "connections": wanted.connections,
        "workers": wanted.workers,
        **{name: summary(found) for name, found in rounds.items()},
        "understudy_over_bare": {
            "median": round(statistics.median(ratios), 3),
            "lowest": round(min(ratios), 3),
            "highest": round(max(ratios), 3),
        },
        "load_before": load_before,
        "machine": machine_facts(packages=("fastapi", "uvicorn", "sqlalchemy", "psycopg")),
    }
    print(json.dumps(result, indent=1))
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
