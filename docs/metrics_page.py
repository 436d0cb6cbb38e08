"""The reference page of the metrics: each family as the code makes it, on figures that are made up and in a database that is empty."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from prometheus_client.metrics_core import Metric

from core.clock import SystemClock
from core.db.tables.job import STATES
from core.errors import BudgetRefused, Unavailable
from core.jobs.states import STAGES
from core.platform.gpus import Gpu
from core.platform.health.figures import ChoreFigures, JobFigures, QueueFigures, WorkerFigures
from core.platform.notifications.repository import Undelivered
from service.edge.request_counters import Recorder
from service.metrics import deployment

_AT = datetime(2026, 1, 1, tzinfo=UTC)
_HEAD = """# Metrics

`GET /metrics`, in the text format of Prometheus, with `Authorization: Bearer $UNDERSTUDY_METRICS_TOKEN`; without a token only the
embedded stack answers. Requests and refusals are counted by each process and added up; everything else is computed from the
database when it is scraped. A budget is named by a keyed digest, and no series depends on private rows. What to do when one of them
says that something is wrong: [operations](../operations.md).

| family | kind | labels | meaning |
|---|---|---|---|
"""


def metrics_page() -> str:
    """Every family with its kind, labels and meaning."""
    return _HEAD + "".join(
        f"| `{family.name}{'_total' if family.type == 'counter' else ''}` | {family.type} | "
        f"{', '.join(f'`{label}`' for label in _labels(family))} | {family.documentation} |\n"
        for family in sorted(_families(), key=lambda family: family.name)
    )


def _labels(family: Metric) -> list[str]:
    named = getattr(family, "_labelnames", ())
    seen = {label for sample in family.samples for label in sample.labels} - {"le"}
    return list(named) or sorted(seen)


# What each group of gauges is computed from is private to its module: the page needs the families, not a database.
# ruff: noqa: SLF001
def _families() -> Iterator[Metric]:
    none = {"by_state": dict.fromkeys(STATES, 0), "running_by_stage": dict.fromkeys(STAGES, 0)}
    gpu = Gpu(index=0, used_bytes=0, total_bytes=0)
    yield from deployment._of_jobs(JobFigures(**none, oldest_wait_seconds=0.0, leases_expired=0))
    yield from deployment._of_queues(
        [QueueFigures(name="queue", waiting=0, running=0, oldest_wait_seconds=0.0, workers=0)]
    )
    yield from deployment._of_workers(
        [WorkerFigures(name="worker", role="worker", silent_seconds=0.0, gpus=(gpu,))]
    )
    yield from deployment._of_chores(
        [ChoreFigures(name="chore", runs=0, failures=0, handled=0, seconds=0.0, tried_at=_AT, done_at=_AT)]
    )
    yield from deployment._of_notifications(Undelivered(waiting=0, since=None, paused=0), now=_AT)
    gauges = deployment.Deployment(_Away(), labels=deployment.Labels(bytes(32)), clock=SystemClock())  # type: ignore[arg-type]
    yield from gauges.collect()
    yield from gauges._of_budgets(_Empty())  # type: ignore[arg-type]
    recorder = Recorder()
    recorder.answered(method="GET", route="/", status=200, seconds=0.0)
    recorder.refused(BudgetRefused("never said"))
    yield from recorder.registry().collect()


class _Away:
    """A database that cannot be reached."""

    def read_only(self) -> None:
        raise Unavailable("never said")


@dataclass(frozen=True)
class _Empty:
    """A session of a database without budgets."""

    def scalars(self, _statement: object) -> "_Empty":
        return self

    def all(self) -> list[object]:
        return []

    def scalar(self, _statement: object) -> int:
        return 0
