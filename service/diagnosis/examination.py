"""Examines every component of a deployment and reports problems.

Read-only, except for one object that it writes and removes as a test. It reads nothing private: only states, ages,
versions and hash chains.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from obstore.exceptions import BaseError as StoreError
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.artifacts.signing import keyring
from core.clock import Clock
from core.data.objects import ObjectStore
from core.db.session import Database
from core.db.tables.budget import Budget
from core.db.tables.worker_sign import ROLES
from core.jobs.queue import TRAINING_QUEUES
from core.ledger import ledger_queries
from core.platform.health import figures
from core.platform.notifications.mail import mail_server
from core.platform.notifications.repository import undelivered
from core.platform.settings import Settings
from core.platform.witness.verification import NOT_OURS, POPULATION_MISSING, forgotten
from core.platform.witness.witness_store import Witnesses
from service import health
from service.diagnosis.findings import Finding, finding

MEGABYTE: Final = 10**6
FULL_BYTES: Final = 10**9
LOW_BYTES: Final = 10 * 10**9
SKEW: Final = timedelta(seconds=5)
STUCK: Final = timedelta(minutes=15)
STARTING: Final = timedelta(minutes=3)
"""How long after the API's start a process that has not signed since then counts as starting, not as missing. Both are started
together, and a worker that makes reports loads more libraries at a lower priority."""
ENTRIES_VERIFIED: Final = 2_000
"""Total number of entries verified on request; upkeep verifies the rest."""


class Examination:
    """One examination of the deployment.

    Args:
        free_bytes: Returns the free space of a folder's disk.
        started_at: When the API started; None if no process may count as starting.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        store: ObjectStore,
        clock: Clock,
        free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
        started_at: datetime | None = None,
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._clock = clock
        self._free_bytes = free_bytes
        self._started_at = started_at

    def findings(self) -> Sequence[Finding]:
        """All findings, in the order of the components."""
        return [*self._servers(), *self._disks(), *self._of_database(), *self._of_settings()]

    def _servers(self) -> Iterator[Finding]:
        checks: dict[str, Callable[[], bool]] = {
            "broker-away": lambda: health.broker_answers(self._settings.broker_url),
            "storage-away": self._storage_takes_objects,
        }
        server = mail_server(self._settings)
        if server is not None:
            checks["mail-away"] = server.answers
        asked = health.probe(checks)
        yield from (finding(code) for code, verdict in asked.items() if verdict == "failed")

    def _storage_takes_objects(self) -> bool:
        key = f"probes/doctor-{uuid4()}"
        self._store.put_bytes(key, b"doctor")
        try:
            return self._store.get_bytes(key) == b"doctor"
        finally:
            self._store.delete(key)

    def _disks(self) -> Iterator[Finding]:
        folders = {"scratch": self._settings.scratch_folder}
        url = urlsplit(self._settings.storage_url)
        if url.scheme == "file":
            folders["objects"] = Path(unquote(url.path))
        for which, folder in folders.items():
            try:
                free = self._free_bytes(folder)
            except OSError:
                continue
            if free < LOW_BYTES:
                code = "disk-full" if free < FULL_BYTES else "disk-low"
                yield finding(code, which=which, free_megabytes=free // MEGABYTE)

    def _of_database(self) -> Iterator[Finding]:
        if (
            health.probe({"database": lambda: health.database_answers(self._database)})["database"]
            == "failed"
        ):
            yield finding("database-away")
            return
        at, needed = health.schema_of(self._database), health.newest_migration()
        if at != needed:
            # Imports Alembic, which nothing else here needs.
            from migrations.upgrade import fault_of

            fault = None if at is None else fault_of(at)
            yield finding(fault or "schema-behind", at=at or "none", needed=needed)
            return
        with self._database.read_only() as session:
            yield from self._clocks(session)
            yield from self._processes(session)
            yield from self._queue(session)
            yield from _ledgers(session)
            paused = undelivered(session).paused
            if paused:
                yield finding("endpoints-paused", which=paused)
        yield from self._witnessed()

    def _witnessed(self) -> Iterator[Finding]:
        """Compare every ledger with its recorded heads. The heads are read first, else a head recorded meanwhile would seem lost."""
        with self._database.read_only() as session:
            public_keys = keyring.public_keys(session)
        witnesses = Witnesses.of(self._settings, self._store)
        try:
            known = dict(witnesses.noted_by_population(public_keys=public_keys))
        except (StoreError, OSError):
            if self._settings.witness_url is not None:
                yield finding("witness-away")
            return
        with self._database.read_only() as session:
            populations = set(session.scalars(select(Budget.population_id)))
            for population_id, noted in sorted(known.items(), key=lambda one: one[0]):
                if population_id not in populations:
                    problem: str | None = POPULATION_MISSING
                else:
                    problem = NOT_OURS if noted is None else forgotten(session, population_id, noted)
                if problem is not None:
                    yield finding("ledger-behind", which=str(population_id), problem=problem)

    def _clocks(self, session: Session) -> Iterator[Finding]:
        skew = figures.clock_skew(session, at=self._clock.now())
        if abs(skew) > SKEW:
            yield finding("clock-skewed", seconds=round(abs(skew).total_seconds()))

    def _processes(self, session: Session) -> Iterator[Finding]:
        seen = figures.worker_figures(session, at=self._clock.now())
        alive = figures.alive_by_role(seen)
        starting = self._starting_roles(seen)
        for role, code in (
            ("worker", "worker-none"),
            ("reports", "reports-none"),
            ("upkeep", "upkeep-silent"),
        ):
            if not alive[role] and role not in starting:
                yield finding(code)
        for one in seen:
            if not one.alive and one.role not in starting:
                yield finding("worker-silent", which=one.name, seconds=round(one.silent_seconds))
        for chore in figures.chore_figures(session):
            if chore.failing:
                yield finding("chore-failing", which=chore.name)

    def _starting_roles(self, seen: Sequence[figures.WorkerFigures]) -> frozenset[str]:
        """The roles that have `STARTING` to give their first sign since the API's start, and have not given it."""
        if self._started_at is None:
            return frozenset()
        up = self._clock.now() - self._started_at
        signed = {one.role for one in seen if one.silent_seconds <= up.total_seconds()}
        return frozenset(ROLES) - signed if up < STARTING else frozenset()

    def _queue(self, session: Session) -> Iterator[Finding]:
        now = self._clock.now()
        jobs = figures.job_figures(session, at=now)
        seen = figures.worker_figures(session, at=now)
        starting = "worker" in self._starting_roles(seen)
        for queue in figures.queue_figures(session, seen, at=now):
            if queue.name in TRAINING_QUEUES.values() and queue.is_stranded and not starting:
                yield finding("queue-unserved", which=queue.name, jobs=queue.waiting + queue.running)
        waited = timedelta(seconds=jobs.oldest_wait_seconds)
        if waited > STUCK and not jobs.by_state["running"]:
            yield finding(
                "queue-stuck", waiting=jobs.by_state["queued"], minutes=waited // timedelta(minutes=1)
            )
        if jobs.leases_expired:
            yield finding("leases-expired", which=jobs.leases_expired)

    def _of_settings(self) -> Iterator[Finding]:
        if self._settings.mode == "embedded":
            return
        if self._settings.witness_url is None:
            yield finding("witness-none")
        if self._settings.metrics_token is None:
            yield finding("metrics-off")


def _ledgers(session: Session) -> Iterator[Finding]:
    left, unverified = ENTRIES_VERIFIED, 0
    lengths = select(Budget.population_id, Budget.head_sequence).order_by(Budget.head_sequence)
    for population_id, entries in session.execute(lengths).all():
        if entries > left:
            unverified += 1
            continue
        left -= entries
        found = ledger_queries.verify_chain(session, population_id)
        if found.broken_at is not None:
            yield finding("ledger-broken", which=str(population_id), entry=found.broken_at)
    if unverified:
        yield finding("ledger-unverified", which=unverified)
    frozen = session.scalar(select(func.count()).select_from(Budget).where(Budget.frozen_at.is_not(None)))
    if frozen:
        yield finding("dataset-frozen", which=frozen)
