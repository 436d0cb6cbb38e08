"""Milliseconds of the dashboard's pages on a server with years behind it: 10,000 ledger entries and 1,000 jobs.

    python -m benchmarks.pages [--save]

One process of uvicorn over a real Postgres, one visitor with a browser's session, one request at a time: what a person
waits for, without the network. The first request of each page does not count. Medians and the 95 % of requests that were
fastest are told, with the server's processor time for each.
"""

import argparse
import http.client
import json
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID, uuid4

from sqlalchemy import text

from benchmarks.machine import load_average, machine_facts
from benchmarks.seeding import plan
from benchmarks.servers import Served, Stack, served, stack
from core.clock import SystemClock
from core.db.session import Database
from core.db.tables import Dataset, Job
from core.dp import mechanism as mechanisms
from core.dp.charge import Charge
from core.dp.filters import AdmissionRule
from core.ledger import governance, ledger
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import pepper_from
from core.platform.access.roles import Role

RESULT: Final = Path(__file__).parent / "results" / "pages.json"
ENTRIES, JOBS, DATASETS = 10_000, 1_000, 200
BAR_MILLISECONDS: Final = 300
DECLARED_SIZE: Final = 32_561


@dataclass(frozen=True)
class Deployment:
    """What was put into the database.

    Args:
        key: An API key of somebody who owns everything and may decide on it.
        dataset_id: The dataset with the long ledger.
    """

    key: str
    dataset_id: UUID


def seed(made: Stack) -> Deployment:
    """One dataset whose ledger has ``ENTRIES`` movements of ``JOBS`` jobs, and others beside it.

    The movements go through the ledger's own door, so balances and hashes are what they are in a deployment.
    """
    clock = SystemClock()
    directory = KeyDirectory(
        pepper=pepper_from(bytes.fromhex(made.master_key)), clock=clock, entropy=os.urandom
    )
    drawn = plan()
    document, digest, mechanism = drawn.to_json(), drawn.digest(), mechanisms.to_json(drawn.mechanism)
    # So small that ten thousand of them fit.
    charge = Charge(epsilon_micros=100, delta_femtos=1, rdp_micros=(1,) * 6)
    database = Database(made.database_url)
    with database.transaction() as session:
        row, key = directory.issue(session, name="bench", roles=[Role.OWNER, Role.ANALYST, Role.ADMIN])
        populations = [
            governance.open_population(session, rule=AdmissionRule.FILTERS, clock=clock)
            for _ in range(DATASETS)
        ]
        datasets = [
            Dataset(
                id=uuid4(), population_id=population, owner_id=row.principal_id, name=f"dataset {number}",
                domain=json.loads((Path(__file__).parent / "domains" / "adult.json").read_text()),
                state="declared", adjacency="add-or-remove", declared_size=DECLARED_SIZE, created_at=clock.now(),
            )
            for number, population in enumerate(populations)
        ]  # fmt: skip
        session.add_all(datasets)
        for population in populations:
            governance.set_cap(
                session, population, epsilon=10.0, delta=1e-5, by=str(row.principal_id), reason="a benchmark", clock=clock
            )  # fmt: skip
        session.flush()
        long = datasets[-1]
        # Ended ones, as most are: each was reserved, spent and settled.
        job_ids = [uuid4() for _ in range(JOBS)]
        session.add_all(
            Job(
                id=each, dataset_id=long.id, ordered_by=row.principal_id, state="succeeded", plan=document,
                plan_digest=digest, fence=1, attempts=1, created_at=clock.now(), sent_at=clock.now(),
                started_at=clock.now(), finished_at=clock.now(),
            )
            for each in job_ids
        )  # fmt: skip
    reserved = (job_ids + [uuid4() for _ in range(ENTRIES // 2 - JOBS)])[: ENTRIES // 2]
    for first in range(0, len(reserved), 500):
        with database.transaction() as session:
            for each in reserved[first : first + 500]:
                ledger.reserve(
                    session, population_id=long.population_id, job_id=each, charge=charge,
                    mechanism_json=mechanism, grant_id=None, clock=clock,
                )  # fmt: skip
                ledger.spend(session, each, fence=1, clock=clock)
    with database.transaction() as session:
        session.execute(text("ANALYZE"))
    database.close()
    return Deployment(key=key.text, dataset_id=long.id)


class Tab:
    """One visitor over one connection that is kept.

    Args:
        port: Of the server.
    """

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {
            "Accept": "text/html", "Sec-Fetch-Site": "same-origin", "Origin": f"http://127.0.0.1:{port}",
        }  # fmt: skip

    def sign_in(self, key: str) -> None:
        """Open a session with a key."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request(
            "POST", "/sign-in", urlencode({"key": key, "next": "/overview"}), self._headers | form
        )
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == 303, answer.status
        self._headers["Cookie"] = str(answer.getheader("set-cookie")).partition(";")[0]

    def open(self, path: str) -> tuple[float, int]:
        """Milliseconds until the whole page has come, and its bytes."""
        begun = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took = 1000 * (time.perf_counter() - begun)
        assert answer.status == 200, (path, answer.status)
        return took, len(body)


def measured(tab: Tab, api: Served, path: str, *, times: int) -> dict[str, Any]:
    """One page, asked for again and again."""
    size = 0
    for _ in range(3):
        _, size = tab.open(path)
    before = api.processor_seconds()
    took = sorted(tab.open(path)[0] for _ in range(times))
    return {
        "median_milliseconds": round(statistics.median(took), 1),
        "p95_milliseconds": round(took[max(0, -(-95 * times // 100) - 1)], 1),
        "processor_milliseconds": round(1000 * (api.processor_seconds() - before) / times, 1),
        "kilobytes": round(size / 1000, 1),
    }


def main() -> None:
    """Run and print; with --save also into the result file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--times", type=int, default=100)
    wanted = parser.parse_args()
    load_before = load_average()
    with stack() as made:
        deployment = seed(made)
        dataset = f"/datasets/{deployment.dataset_id}"
        pages = {
            "overview": "/overview", "dataset": dataset, "ledger": f"{dataset}/ledger",
            "requests and grants": f"{dataset}/people", "jobs": "/jobs",
        }  # fmt: skip
        log, environment = made.folder / "api.log", made.environment()
        with served("service.asgi:app", environment, workers=1, log=log) as api:
            tab = Tab(api.port)
            tab.sign_in(deployment.key)
            found = {name: measured(tab, api, path, times=wanted.times) for name, path in pages.items()}
            checked, _ = tab.open(f"{dataset}/ledger?check=true")
    result = {
        "entries": ENTRIES,
        "jobs": JOBS,
        "datasets": DATASETS,
        "times": wanted.times,
        "bar_milliseconds": BAR_MILLISECONDS,
        "pages": found,
        "ledger_with_every_hash_recomputed_milliseconds": round(checked),
        "load_before": load_before,
        "load_after": load_average(),
        "machine": machine_facts(packages=("fastapi", "uvicorn", "sqlalchemy", "jinja2")),
    }
    print(json.dumps(result, indent=1))
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
