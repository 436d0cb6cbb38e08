"""The health of the whole deployment: jobs, heartbeats, chores. Counts of jobs and ages only, nothing of rows.

Everything is computed from the database on request, so every process gives the same answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import and_, func, or_, select, text
from sqlalchemy.orm import Session

from core.db.tables.chore_run import ChoreRun
from core.db.tables.job import DEVICES, STATES, Job
from core.db.tables.worker_sign import ROLES, WorkerSign
from core.jobs.queue import ANY_DEVICE_QUEUE, REPORTS_QUEUE, TRAINING_QUEUES
from core.jobs.states import STAGES, JobState
from core.plan.utility_reports.plan import KIND as REPORT
from core.platform.gpus import Gpu
from core.platform.health.signs import SILENT_SECONDS, kinds_of

WAITING_STAGE: Final = "none"
"""The stage of a running job before its first mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFigures:
    """The jobs at one moment.

    Attributes:
        running_by_stage: number of running jobs in each stage, as it is shown (core.jobs.visible_progress).
        oldest_wait_seconds: wait of the oldest queued job; 0 if none waits.
        leases_expired: running jobs whose worker has fallen silent.
    """

    by_state: Mapping[str, int]
    running_by_stage: Mapping[str, int]
    oldest_wait_seconds: float
    leases_expired: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFigures:
    """The jobs of one queue.

    Attributes:
        waiting: jobs that no worker has begun.
        running: jobs that have begun and not ended.
        oldest_wait_seconds: wait of the oldest job that no worker has begun; 0 if none waits.
    """

    name: str
    waiting: int
    running: int
    oldest_wait_seconds: float
    workers: int

    @property
    def is_stranded(self) -> bool:
        """Whether jobs wait that no live worker serves."""
        return self.waiting + self.running > 0 and self.workers == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFigures:
    """One process that writes heartbeats.

    Attributes:
        role: worker, reports (a worker of that queue) or upkeep.
        serves: the kinds of device whose trainings it takes.
    """

    name: str
    role: str
    silent_seconds: float
    gpus: tuple[Gpu, ...]
    serves: tuple[str, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether its last sign is recent."""
        return self.silent_seconds <= SILENT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoreFigures:
    """One chore of upkeep.

    Attributes:
        handled: number of things put right, over all runs; 0 where it may depend on rows.
        seconds: duration of the last run.
        tried_at: time of the last try.
        done_at: time of the last success; None before the first.
    """

    name: str
    runs: int
    failures: int
    handled: int
    seconds: float
    tried_at: datetime
    done_at: datetime | None

    @property
    def failing(self) -> bool:
        """Whether the last run failed."""
        return self.done_at is None or self.done_at < self.tried_at


def job_figures(session: Session, *, at: datetime) -> JobFigures:
    """Count the jobs. A job that has begun counts as running until it ends, even while it waits for another attempt (core.jobs.visible_progress)."""
    begun = Job.started_at.is_not(None)
    by_state: Counter[str] = Counter(dict.fromkeys(STATES, 0))
    for state, has_begun, count in session.execute(
        select(Job.state, begun, func.count()).group_by(Job.state, begun)
    ):
        runs = state == JobState.QUEUED.value and has_begun
        by_state[JobState.RUNNING.value if runs else state] += count
    again = and_(Job.state == JobState.QUEUED.value, begun)
    stages = session.execute(
        select(func.coalesce(Job.shown_stage, WAITING_STAGE), func.count())
        .where(or_(Job.state == JobState.RUNNING.value, again))
        .group_by(Job.shown_stage)
    )
    oldest = session.scalar(
        select(func.min(Job.created_at)).where(Job.state == JobState.QUEUED.value, Job.started_at.is_(None))
    )
    expired = session.scalar(
        select(func.count()).where(Job.state == JobState.RUNNING.value, Job.lease_expires_at < at)
    )
    return JobFigures(
        by_state=dict(by_state),
        running_by_stage=dict.fromkeys((WAITING_STAGE, *STAGES), 0) | dict(stages.all()),
        oldest_wait_seconds=0.0 if oldest is None else max(0.0, (at - oldest).total_seconds()),
        leases_expired=expired or 0,
    )


def queue_figures(
    session: Session, workers: Sequence[WorkerFigures], *, at: datetime
) -> Sequence[QueueFigures]:
    """Count the jobs of each queue. A job that has begun counts as running until it ends, as in `job_figures`.

    Trainings that were ordered before there were kinds of devices are one queue, listed only while there are any.
    """
    is_report = func.coalesce(Job.plan["kind"].as_string(), "") == REPORT
    begun = Job.started_at.is_not(None)
    found = session.execute(
        select(is_report, Job.device, begun, func.count(), func.min(Job.created_at))
        .where(Job.state.in_([JobState.QUEUED.value, JobState.RUNNING.value]))
        .group_by(is_report, Job.device, begun)
    ).all()
    jobs: Counter[tuple[str, bool]] = Counter()
    oldest: dict[str, datetime] = {}
    for report, device, has_begun, count, first in found:
        training = ANY_DEVICE_QUEUE if device is None else TRAINING_QUEUES[device]
        name = REPORTS_QUEUE if report else training
        jobs[name, has_begun] += count
        if not has_begun:
            oldest[name] = first
    alive = [worker for worker in workers if worker.alive]
    serving = Counter(TRAINING_QUEUES[kind] for worker in alive for kind in worker.serves)
    serving[REPORTS_QUEUE] = sum(worker.role == "reports" for worker in alive)
    serving[ANY_DEVICE_QUEUE] = sum(worker.role == "worker" for worker in alive)
    names = [*(TRAINING_QUEUES[device] for device in DEVICES), REPORTS_QUEUE]
    if any(name == ANY_DEVICE_QUEUE for name, _ in jobs):
        names.append(ANY_DEVICE_QUEUE)
    return [
        QueueFigures(
            name=name,
            waiting=jobs[name, False],
            running=jobs[name, True],
            oldest_wait_seconds=max(0.0, (at - oldest[name]).total_seconds()) if name in oldest else 0.0,
            workers=serving[name],
        )
        for name in names
    ]


def worker_figures(session: Session, *, at: datetime) -> Sequence[WorkerFigures]:
    """Every process that wrote a heartbeat within the last hour, by name."""
    return [
        WorkerFigures(
            name=row.name,
            role=row.role,
            silent_seconds=max(0.0, (at - row.seen_at).total_seconds()),
            gpus=tuple(Gpu(**gpu) for gpu in row.devices),
            serves=kinds_of(row.serves, row.devices) if row.role == "worker" else (),
        )
        for row in session.scalars(select(WorkerSign).order_by(WorkerSign.name))
    ]


def alive_by_role(workers: Sequence[WorkerFigures]) -> Mapping[str, int]:
    """Number of live processes of each role."""
    return {role: sum(worker.alive for worker in workers if worker.role == role) for role in ROLES}


def chore_figures(session: Session) -> Sequence[ChoreFigures]:
    """Every chore of upkeep, by name."""
    return [
        ChoreFigures(
            name=row.name,
            runs=row.runs,
            failures=row.failures,
            handled=row.handled,
            seconds=row.seconds,
            tried_at=row.tried_at,
            done_at=row.done_at,
        )
        for row in session.scalars(select(ChoreRun).order_by(ChoreRun.name))
    ]


def clock_skew(session: Session, *, at: datetime) -> timedelta:
    """How far this machine's clock is ahead of the database's."""
    now: datetime = session.execute(text("SELECT clock_timestamp()")).scalar_one()
    return at - now
