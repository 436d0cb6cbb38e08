"""Gauges about the whole deployment, computed from the database at every scrape.

Budgets are labelled with a keyed digest of their population, so a reader of the metrics does not learn which dataset's
budget runs low. The key is derived from the master key, so rotating the master key changes the labels. Only the budgets
with the longest ledgers are exported, with the number left out, to bound the number of series.
"""

import hmac
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.session import Database
from core.db.tables.budget import Budget
from core.errors import Unavailable
from core.ledger import ledger_queries
from core.ledger.ledger_queries import Summary
from core.platform.health import figures
from core.platform.health.figures import ChoreFigures, JobFigures, QueueFigures, WorkerFigures
from core.platform.notifications.repository import Undelivered, undelivered

BUDGETS_SHOWN: Final = 200
_LABEL_BYTES: Final = 6


class Labels:
    """Opaque labels of budgets: digests under a key derived from the master key."""

    def __init__(self, master_key: bytes) -> None:
        self._key = HKDF(SHA256(), 32, None, b"understudy/metrics-label/1").derive(master_key)

    def of(self, population_id: UUID) -> str:
        """The label of a population's budget."""
        return hmac.digest(self._key, population_id.bytes, sha256)[:_LABEL_BYTES].hex()


class Deployment(Collector):
    """Collects the gauges from the database."""

    def __init__(self, database: Database, *, labels: Labels, clock: Clock) -> None:
        self._database = database
        self._labels = labels
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Yield every metric family; if the database is unavailable, only `understudy_database_up`."""
        try:
            with self._database.read_only() as session:
                families = list(self._families(session))
        except Unavailable:
            families = []
        yield _gauge(
            "understudy_database_up", "Whether the database answered this scrape.", int(bool(families))
        )
        yield from families

    def registry(self) -> CollectorRegistry:
        """A registry with only this collector."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def _families(self, session: Session) -> Iterator[Metric]:
        now = self._clock.now()
        yield from _of_jobs(figures.job_figures(session, at=now))
        workers = figures.worker_figures(session, at=now)
        yield from _of_queues(figures.queue_figures(session, workers, at=now))
        yield from _of_workers(workers)
        yield from _of_chores(figures.chore_figures(session))
        yield from _of_notifications(undelivered(session), now=now)
        yield from self._of_budgets(session)

    def _of_budgets(self, session: Session) -> Iterator[Metric]:
        share = GaugeMetricFamily(
            "understudy_budget_free_share",
            "Remaining share of a budget, by the filter with the most left; 0 if no filter holds.",
            labels=["budget"],
        )
        frozen = GaugeMetricFamily(
            "understudy_budget_frozen", "Whether a budget is frozen.", labels=["budget"]
        )
        capped = Budget.epsilon_cap.is_not(None)
        chosen = session.scalars(
            select(Budget.population_id)
            .where(capped)
            .order_by(Budget.head_sequence.desc(), Budget.population_id)
            .limit(BUDGETS_SHOWN)
        ).all()
        for population_id in chosen:
            summary = ledger_queries.summary(session, population_id)
            label = [self._labels.of(population_id)]
            share.add_metric(label, _free_share(summary))
            frozen.add_metric(label, int(summary.frozen_at is not None))
        there = session.scalar(select(func.count()).select_from(Budget).where(capped)) or 0
        yield share
        yield frozen
        yield _gauge("understudy_budgets_left_out", "Budgets that are not exported.", there - len(chosen))


def _free_share(summary: Summary) -> float:
    admission = summary.admission
    if admission is None or admission.carried_by is None:
        return 0.0
    return max(0.0, float(admission.filters[admission.carried_by].free_share))


def _of_jobs(jobs: JobFigures) -> Iterator[Metric]:
    yield _labelled("understudy_jobs", "Jobs by state.", "state", jobs.by_state.items())
    yield _labelled(
        "understudy_jobs_running", "Running jobs by stage.", "stage", jobs.running_by_stage.items()
    )
    yield _gauge("understudy_queue_depth", "Jobs waiting for a worker.", jobs.by_state["queued"])
    yield _gauge(
        "understudy_queue_oldest_seconds",
        "Waiting time of the oldest queued job.",
        jobs.oldest_wait_seconds,
    )
    yield _gauge("understudy_leases_expired", "Running jobs whose lease has expired.", jobs.leases_expired)


def _of_queues(queues: Sequence[QueueFigures]) -> Iterator[Metric]:
    for name, words, figure in (
        ("understudy_queue_jobs_waiting", "Jobs of a queue that no worker has begun.", "waiting"),
        ("understudy_queue_jobs_running", "Jobs of a queue that have begun.", "running"),
        (
            "understudy_queue_wait_seconds",
            "Waiting time of the oldest job of a queue.",
            "oldest_wait_seconds",
        ),
        ("understudy_queue_workers_alive", "Live workers that serve a queue.", "workers"),
    ):
        yield _labelled(name, words, "queue", ((each.name, getattr(each, figure)) for each in queues))


def _of_workers(workers: Sequence[WorkerFigures]) -> Iterator[Metric]:
    alive = figures.alive_by_role(workers)
    yield _labelled("understudy_workers_alive", "Processes with a recent heartbeat.", "role", alive.items())
    yield _labelled(
        "understudy_worker_silent_seconds",
        "Time since the last heartbeat of a process.",
        "worker",
        ((worker.name, worker.silent_seconds) for worker in workers),
    )
    used = GaugeMetricFamily(
        "understudy_gpu_memory_used_bytes", "Memory in use on a GPU.", labels=["worker", "gpu"]
    )
    total = GaugeMetricFamily(
        "understudy_gpu_memory_total_bytes", "Memory of a GPU.", labels=["worker", "gpu"]
    )
    for worker in workers:
        for gpu in worker.gpus:
            used.add_metric([worker.name, str(gpu.index)], gpu.used_bytes)
            total.add_metric([worker.name, str(gpu.index)], gpu.total_bytes)
    yield used
    yield total


def _of_chores(chores: Sequence[ChoreFigures]) -> Iterator[Metric]:
    for name, words, figure in (
        ("understudy_chore_runs", "Runs of an upkeep task.", "runs"),
        ("understudy_chore_failures", "Failed runs of an upkeep task.", "failures"),
        (
            "understudy_chore_handled",
            "Items that an upkeep task repaired; objects that `uploads` and `orphans` remove are not counted.",
            "handled",
        ),
    ):
        family = CounterMetricFamily(name, words, labels=["chore"])
        for chore in chores:
            family.add_metric([chore.name], getattr(chore, figure))
        yield family
    yield _labelled(
        "understudy_chore_failing",
        "Whether the last run of an upkeep task failed.",
        "chore",
        ((chore.name, int(chore.failing)) for chore in chores),
    )
    yield _labelled(
        "understudy_chore_last_success_timestamp_seconds",
        "Time of an upkeep task's last success; 0 if never.",
        "chore",
        ((chore.name, 0.0 if chore.done_at is None else chore.done_at.timestamp()) for chore in chores),
    )
    yield _labelled(
        "understudy_chore_seconds",
        "Duration of an upkeep task's last run.",
        "chore",
        ((chore.name, chore.seconds) for chore in chores),
    )


def _of_notifications(found: Undelivered, *, now: datetime) -> Iterator[Metric]:
    waited = 0.0 if found.since is None else max(0.0, (now - found.since).total_seconds())
    yield _gauge(
        "understudy_notifications_waiting", "Events and deliveries waiting to be sent.", found.waiting
    )
    yield _gauge("understudy_notifications_oldest_seconds", "Waiting time of the oldest of them.", waited)
    yield _gauge("understudy_notification_endpoints_paused", "Paused notification endpoints.", found.paused)


def _gauge(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, value=value)


def _labelled(name: str, words: str, label: str, values: Iterable[tuple[str, float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=[label])
    for each, value in values:
        family.add_metric([each], value)
    return family
