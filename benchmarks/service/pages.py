"""Milliseconds of every page of the dashboard on a server with years behind it.

    python -m benchmarks.service.pages [--save]

The scene of the dashboard's tests is copied until there are ``COUNTS`` of each thing; the ledger gets ``ENTRIES`` entries
through its own door, so its chain verifies. One process of uvicorn serves it over a real Postgres to one visitor for each
role, one request at a time: what a person waits for, without the network. The first request of each page is reported
apart; the others give the median, the slowest, and the server's processor time. The list of pages is that of
`tests.dashboard.every_page`, which a test compares with the routes.
"""

import argparse
import http.client
import json
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID, uuid4

from sqlalchemy import text
from sqlalchemy.orm import Session

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import RESULTS
from benchmarks.service.seeding import plan
from benchmarks.service.servers import Served, Stack, served, stack
from core.clock import SystemClock
from core.data.objects import open_store
from core.db.session import Database
from core.db.tables import Dataset
from core.dp import mechanism as mechanisms
from core.dp.charge import Charge
from core.ledger import ledger
from core.ledger.audit_log import link_waiting
from core.platform.access.roles import Role
from core.platform.settings import Settings
from tests.dashboard.every_page import COMPUTED, PAGES
from tests.dashboard.newer_scene import enrich
from tests.dashboard.scene import lived_in
from tests.service.world import World, open_world

RESULT: Final = RESULTS / "pages.json"
ENTRIES: Final = 10_000
COUNTS: Final[Mapping[str, int]] = {
    "datasets": 200, "jobs": 1_000, "releases": 300, "budget_requests": 1_000, "grants": 1_000, "dataset_members": 200,
    "api_keys": 500, "people": 300, "enrolments": 600, "notification_events": 1_000, "notification_deliveries": 1_000,
    "charged_reports": 100, "audit_events": 20_000, "federations": 300, "federation_members": 900, "job_members": 200,
}  # fmt: skip
"""How many of each there are in the end, at least."""
BAR_MILLISECONDS: Final = 300
# So small that ten thousand of them fit.
CHARGE: Final = Charge(epsilon_micros=100, delta_femtos=1, rdp_micros=(1,) * 6)


@dataclass(frozen=True)
class Deployment:
    """Keys and ids of a filled database.

    Attributes:
        keys: an API key of each role.
        places: the ids in the paths of the pages.
    """

    keys: Mapping[str, str]
    places: Mapping[str, str]


def fill(made: Stack) -> Deployment:
    """Make the scene of the tests, then copy it until it is as long as years."""
    database = Database(made.database_url, pool_size=4, max_overflow=8)
    settings = Settings.model_validate(
        {
            "mode": "embedded",
            "database_url": made.database_url,
            "broker_url": "memory://",
            "storage_url": made.storage_url,
            "scratch_folder": made.folder,
            "master_key": made.master_key,
        }
    )
    with open_world(settings, database, open_store(made.storage_url)) as world:
        world.clock.at = datetime.now(UTC) - timedelta(days=18)
        scene = lived_in(world)
        places = vars(scene) | vars(enrich(world, scene))
        keys = {"owner": world.owner.key, "analyst": world.analyst.key, "admin": world.admin.key}
        keys["auditor"] = world.caller(Role.AUDITOR).key
        _multiply(world, UUID(scene.dataset_id), scene.release_id)
        _lengthen(world, UUID(scene.dataset_id))
    link_waiting(database)
    with database.transaction() as session:
        session.execute(text("ANALYZE"))
    database.close()
    return Deployment(keys=keys, places=places)


def _lengthen(world: World, dataset_id: UUID) -> None:
    """Give one ledger its entries: jobs that were reserved and spent, those of the oldest in the database."""
    clock, mechanism = SystemClock(), mechanisms.to_json(plan().mechanism)
    with world.database.transaction() as session:
        population_id = session.get_one(Dataset, dataset_id).population_id
        known = list(
            session.scalars(
                text(
                    "SELECT id FROM jobs WHERE id NOT IN (SELECT job_id FROM ledger_entries WHERE job_id IS NOT NULL)"
                )
            )
        )
    reserved = (known + [uuid4() for _ in range(ENTRIES // 2)])[: ENTRIES // 2]
    for first in range(0, len(reserved), 500):
        with world.database.transaction() as session:
            for each in reserved[first : first + 500]:
                ledger.reserve(
                    session, population_id=population_id, job_id=each, charge=CHARGE, mechanism_json=mechanism,
                    grant_id=None, clock=clock,
                )  # fmt: skip
                ledger.spend(session, each, fence=1, clock=clock)


def _multiply(world: World, dataset_id: UUID, release_id: str) -> None:
    """Copy the other things. Names and ids differ, and half of the copies hang on the dataset that is looked at."""
    fresh, ago = "gen_random_uuid()", "now() - n * interval '1 hour'"
    with world.database.transaction() as session:
        _copy(
            session, "jobs", COUNTS["jobs"], source="SELECT * FROM jobs WHERE state IN ('succeeded', 'failed')", id=fresh,
            dataset_id=f"'{dataset_id}'",
        )  # fmt: skip
        _copy(session, "datasets", COUNTS["datasets"], id=fresh, name="name || ' ' || n", created_at=ago)
        jobs = "(SELECT array_agg(id) FROM jobs WHERE id NOT IN (SELECT job_id FROM releases))"
        _copy(session, "releases", COUNTS["releases"], id=fresh, job_id=f"({jobs})[n]", created_at=ago)
        _copy(
            session, "charged_reports", COUNTS["charged_reports"], id=fresh, release_id=f"'{release_id}'",
            job_id="(SELECT array_agg(id) FROM jobs WHERE id NOT IN (SELECT job_id FROM charged_reports))[n]",
        )  # fmt: skip
        _copy(
            session, "api_keys", COUNTS["api_keys"], id=fresh, principal_id=fresh, name="name || ' ' || n",
            digest="sha256(gen_random_uuid()::text::bytea)",
        )  # fmt: skip
        session.execute(
            text(
                "INSERT INTO principal_names (principal_id, name, named_by, named_at)"
                " SELECT DISTINCT ON (principal_id) principal_id, 'Person ' || prefix, principal_id, now() FROM api_keys"
                " ON CONFLICT DO NOTHING"
            )
        )
        session.execute(
            text(
                "INSERT INTO people (principal_id, roles, created_by, created_at, enrolled_at)"
                " SELECT principal_id, ARRAY['analyst'], principal_id, now(), now()"
                " FROM (SELECT DISTINCT principal_id FROM api_keys LIMIT :people) AS k ON CONFLICT DO NOTHING"
            ),
            {"people": COUNTS["people"]},
        )
        session.execute(
            text(
                "INSERT INTO enrolments (id, principal_id, digest, is_recovery, created_by, created_at, expires_at, accepted_at)"
                " SELECT gen_random_uuid(), principal_id, sha256(gen_random_uuid()::text::bytea), n = 2, principal_id, now(),"
                " now() + interval '3 days', now() FROM people, generate_series(1, 2) AS n"
            )
        )
        someone = "(SELECT array_agg(principal_id ORDER BY principal_id) FROM people)[1 + n % 300]"
        session.execute(
            text(
                "INSERT INTO dataset_members (dataset_id, principal_id, added_by, added_at)"
                " SELECT :dataset, principal_id, principal_id, now() FROM people LIMIT :members ON CONFLICT DO NOTHING"
            ),
            {"dataset": dataset_id, "members": COUNTS["dataset_members"]},
        )
        _copy(
            session, "grants", COUNTS["grants"], source="SELECT * FROM grants LIMIT 2", id=fresh, holder_id=someone,
            created_at=ago, expires_at="now() + n * interval '1 hour'",
        )  # fmt: skip
        _copy(
            session, "budget_requests", COUNTS["budget_requests"], id=fresh, requested_by=someone, created_at=ago,
            dataset_id="(SELECT array_agg(id) FROM datasets)[1 + n % 200]", state="'denied'", decided_at=ago,
            decided_by=someone,
        )  # fmt: skip
        session.execute(
            text(
                "INSERT INTO notification_events (id, kind, facts, at)"
                " SELECT gen_random_uuid(), kind, facts, at FROM notification_events, generate_series(1, :events) LIMIT :events"
            ),
            {"events": COUNTS["notification_events"]},
        )
        _copy(
            session, "federations", COUNTS["federations"], id=fresh, name="name || ' ' || n", created_at=ago
        )
        session.execute(
            text(
                "INSERT INTO federation_members (federation_id, place, name, token_digest)"
                " SELECT id, place, 'member ' || place, sha256(gen_random_uuid()::text::bytea) FROM federations,"
                " generate_series(0, 2) AS place ON CONFLICT DO NOTHING"
            )
        )
        session.execute(
            text(
                "INSERT INTO job_members (job_id, dataset_id) SELECT jobs.id, other.dataset_id FROM"
                " (SELECT id FROM jobs LIMIT :joint) AS jobs, (SELECT dataset_id FROM job_members LIMIT 1) AS other"
                " ON CONFLICT DO NOTHING"
            ),
            {"joint": COUNTS["job_members"]},
        )
        _copy(
            session, "audit_events", COUNTS["audit_events"], source="SELECT * FROM audit_events WHERE outcome = 'done' LIMIT 20",
            sequence=None, at=ago,
        )  # fmt: skip


def _copy(
    session: Session, table: str, count: int, *, source: str | None = None, **changes: str | None
) -> None:
    """Copy rows of a table until there are so many.

    Args:
        source: a statement for the rows that are copied; all of the table without one.
        **changes: SQL of columns that differ, in which `n` counts from 1; None for a column that the database fills.
    """
    columns = session.scalars(
        text(
            "SELECT column_name FROM information_schema.columns WHERE table_name = :table AND table_schema = 'public'"
        ),
        {"table": table},
    )
    values = {name: changes.get(name, name) for name in columns}
    written = {name: value for name, value in values.items() if value is not None}
    there = int(session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())  # noqa: S608 - names of this file
    session.execute(
        text(
            f"INSERT INTO {table} ({', '.join(written)}) SELECT {', '.join(written.values())} FROM"  # noqa: S608
            f" (SELECT source.*, row_number() OVER () AS n FROM ({source or f'TABLE {table}'}) AS source,"
            " generate_series(1, :count)) AS copies LIMIT :count"
        ),
        {"count": max(0, count - there)},
    )


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

    def reconnect(self) -> None:
        """Begin a connection anew; the server has closed the old one if other visitors took long."""
        self._connection.close()
        self._connection.connect()

    def open(self, path: str) -> tuple[float, int]:
        """Milliseconds until the whole page has come, and its bytes."""
        begun = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took = 1000 * (time.perf_counter() - begun)
        # The page of an error is one of the pages.
        assert answer.status in {200, 404}, (path, answer.status, body[-2000:])
        return took, len(body)


def measured(tab: Tab, api: Served, path: str, *, times: int) -> dict[str, Any]:
    """One page, asked for again and again."""
    tab.reconnect()
    first, size = tab.open(path)
    before = api.processor_seconds()
    took = sorted(tab.open(path)[0] for _ in range(times))
    return {
        "first_milliseconds": round(first, 1),
        "median_milliseconds": round(statistics.median(took), 1),
        "slowest_milliseconds": round(took[-1], 1),
        "processor_milliseconds": round(1000 * (api.processor_seconds() - before) / times, 1),
        "kilobytes": round(size / 1000, 1),
    }


@contextmanager
def visited(api: Served, deployment: Deployment) -> Iterator[Mapping[str | None, Tab]]:
    """A signed-in visitor of each role, and one without a session."""
    tabs: dict[str | None, Tab] = {None: Tab(api.port)}
    for role, key in deployment.keys.items():
        tabs[role] = Tab(api.port)
        tabs[role].sign_in(key)
    yield tabs


def measure_all(made: Stack, deployment: Deployment, *, times: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every page, and what pages fetch when it is computed, over a fresh server."""
    log = made.folder / "api.log"
    with (
        served("service.asgi:app", made.environment(), workers=1, log=log) as api,
        visited(api, deployment) as tabs,
    ):
        found = [
            {
                name: measured(tabs[role], api, path.format_map(deployment.places), times=count)
                for name, (role, path) in wanted.items()
            }
            for wanted, count in ((PAGES, times), (COMPUTED, 3))
        ]
    return found[0], found[1]


def main() -> None:
    """Run and print; with --save also into the result file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--times", type=int, default=10)
    wanted = parser.parse_args()
    load_before = load_average()
    with stack(keeps_objects=True) as made:
        pages, computed = measure_all(made, fill(made), times=wanted.times)
    result = {
        "entries": ENTRIES,
        "counts": dict(COUNTS),
        "times": wanted.times,
        "bar_milliseconds": BAR_MILLISECONDS,
        "pages": pages,
        "computed_afterwards": computed,
        "load_before": load_before,
        "load_after": load_average(),
        "machine": machine_facts(packages=("fastapi", "uvicorn", "sqlalchemy", "jinja2")),
    }
    print(json.dumps(result, indent=1))
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
