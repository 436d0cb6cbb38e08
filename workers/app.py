"""The Celery application and its tasks: `celery -A workers.app worker --pool prefork --concurrency 1`.

| task                | what it does                                                | runs                     |
|---------------------|-------------------------------------------------------------|--------------------------|
| `understudy.train`  | the training whose turn it is; `train.cpu`, `train.gpu`     | `workers.training`       |
| `understudy.measure`| the utility report whose turn it is; queue `reports`        | `workers.training`       |
| `understudy.report` | the owner report that the message names; queue `reports`    | `workers.owner_reports`  |
| `understudy.count`  | helps a training to count; queue `counting`                 | `workers.shared_counting`|

A worker serves the queues that `--queues` names; without it trainings alone, on a GPU too if torch sees one. Reports need a
worker of their own: a training may take hours. `celery` holds trainings that were ordered before there were kinds of devices.

A message is a hint, so it is acknowledged late and taken one at a time, and nothing is kept of its result. Tasks raise
nothing: Celery would log the text of what it caught. A message that could not be served is lost here and sent again by
upkeep, because the row still waits.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, Final
from uuid import UUID

import structlog
from celery import Celery, Task, bootsteps
from celery.signals import (
    celeryd_after_setup,
    celeryd_init,
    setup_logging,
    worker_process_init,
    worker_shutting_down,
)

from core import startup
from core.clock import SystemClock
from core.crashes import leave_no_core
from core.data.objects import open_store
from core.db.session import Database
from core.jobs.queue import (
    ANY_DEVICE_QUEUE,
    COUNTING_TASK,
    MEASURING_TASK,
    REPORT_TASK,
    REPORTS_QUEUE,
    TRAINING_QUEUES,
    TRAINING_TASK,
    CeleryQueue,
    broker_transport_options,
)
from core.logs import configure_logs, get_logger, is_request_id
from core.plan.devices import DEVICES, Device
from core.plan.installed import graphical_models_installed
from core.platform.gpus import gpus, torch_sees_gpu
from core.platform.health.signs import SIGN_SECONDS, HealthReporter, Role
from core.platform.settings import Settings, read_settings
from core.tracing import tracer_for
from workers.child import (
    Child,
    Limits,
    announce_stop,
    child_environment,
    die_with_parent,
    runner_command,
    stop_announced,
    stop_noticed,
    watch,
)
from workers.owner_reports import OwnerReporter
from workers.training import Trainer

startup.imported()


def _configuration() -> dict[str, Any]:
    """Celery's settings, read at first use, so that importing this module needs no environment."""
    return {
        "broker_url": read_settings().broker_url,
        "broker_transport_options": broker_transport_options(),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_ignore_result": True,
        "task_default_queue": ANY_DEVICE_QUEUE,
        "task_serializer": "json",
        "accept_content": ["json"],
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_send_task_events": False,
        # A training that finishes while its worker's connection is lost must not run twice.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "enable_utc": True,
    }


app: Final = Celery("understudy", set_as_current=False)
app.add_defaults(_configuration)


@contextmanager
def _served(task: Task, **subject: str) -> Iterator[None]:
    """Serve a message inside the block: log its request id, watch for stops, and raise nothing."""
    named = task.request.get("request_id")
    context = subject | ({"request_id": named} if is_request_id(named) else {})
    with structlog.contextvars.bound_contextvars(**context):
        try:
            with stop_noticed():
                yield
        except Exception:  # noqa: BLE001 - the class is logged, the text is not
            get_logger().error("task-broke-off", exc_info=True)


@app.task(name=TRAINING_TASK, bind=True)
def train(task: Task, job_id: str) -> None:
    """Run the training whose turn it is, whichever job the message names."""
    with _served(task, job_id=job_id):
        trainer().serve()


@app.task(name=MEASURING_TASK, bind=True)
def measure(task: Task, job_id: str) -> None:
    """Measure the utility report whose turn it is, whichever job the message names."""
    with _served(task, job_id=job_id):
        trainer().serve(reports=True)


@app.task(name=REPORT_TASK, bind=True)
def report(task: Task, report_id: str) -> None:
    """Make the owner report that the message names."""
    with _served(task, report_id=report_id):
        owner_reporter().report(UUID(report_id))


@app.task(name=COUNTING_TASK, bind=True)
def count(task: Task, job_id: str, fence: int) -> None:
    """Start a child that helps the attempt of a job to count, and watch it.

    The task opens no rows and writes nothing down, and a training counts without help too. Only workers that the operator
    started for it (`--queues counting`) serve this queue: how long a shard takes depends on rows, and a worker that takes
    trainings or reports must not be free sooner or later because of it.
    """
    with _served(task, job_id=job_id):
        settings = read_settings()
        watch(
            Child(
                runner_command(UUID(job_id), int(fence), work="count"),
                child_environment(os.environ, threads=1),
            ),
            limits=Limits(memory_bytes=settings.training_memory_bytes, seconds=settings.training_seconds),
            heartbeat_seconds=settings.heartbeat_seconds,
            heartbeat=lambda: None,
            stopping=stop_announced,
        )


@cache
def trainer() -> Trainer:
    """The trainer of this process, made after the fork."""
    settings = read_settings()
    tracer = tracer_for(role="worker", endpoint=settings.otlp_endpoint)
    return Trainer(settings, tracer=tracer, devices=served_kinds(app), **_parts(settings))


def served_kinds(worker: Celery) -> tuple[Device, ...]:
    """The kinds of device whose trainings a worker takes, by the queues that it consumes; all before queues are chosen."""
    consumed = worker.amqp.queues.consume_from
    named = tuple(kind for kind in DEVICES if TRAINING_QUEUES[kind] in consumed)
    return DEVICES if not named and ANY_DEVICE_QUEUE in consumed else named


@cache
def owner_reporter() -> OwnerReporter:
    """The maker of owner reports of this process, made after the fork."""
    settings = read_settings()
    return OwnerReporter(settings, **_parts(settings))


def _parts(settings: Settings) -> dict[str, Any]:
    return {
        "database": Database(settings.database_url, pool_size=1, max_overflow=1),
        "store": open_store(settings.storage_url),
        "queue": CeleryQueue(settings.broker_url),
        "clock": SystemClock(),
        "environment": os.environ,
        "stopping": stop_announced,
    }


class SignsOfLife(bootsteps.StartStopStep):  # type: ignore[misc]  # celery has no types
    """Writes a heartbeat from the worker's main process at intervals, for as long as its event loop turns."""

    requires: ClassVar = {"celery.worker.components:Timer"}

    def start(self, parent: Any) -> None:  # noqa: ANN401 - celery has no types
        """Write the first heartbeat at once."""
        settings = read_settings()
        # One connection, closed between two signs: the pool's processes are forked from this one.
        database = Database(settings.database_url, pool_size=1, max_overflow=0)
        served = set(parent.app.amqp.queues.consume_from)
        roles: list[Role] = ["reports"] if REPORTS_QUEUE in served else []
        if served != {REPORTS_QUEUE}:
            roles.append("worker")
        kinds = served_kinds(parent.app)
        health = [
            HealthReporter(
                database,
                clock=SystemClock(),
                role=role,
                find_gpus=gpus,
                serves=kinds if role == "worker" else None,
            )
            for role in roles
        ]

        def sign() -> None:
            for each in health:
                each.sign()
            database.close()

        sign()
        parent.timer.call_repeatedly(SIGN_SECONDS, sign)


app.steps["worker"].add(SignsOfLife)


class NamesOnly(logging.Handler):
    """Logs what libraries log without their text: the library, the level and the class of an exception."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log that there was a record."""
        get_logger().warning(
            "library-log", library=record.name, grade=record.levelname, exc_info=record.exc_info or None
        )


@celeryd_init.connect
def _require_libraries(**_: object) -> None:
    """Refuse to start without the libraries of what the operator offers: such a job would be claimed and paid for.

    Raises:
        SystemExit: They are not installed.
    """
    if read_settings().graphical_models == "on" and not graphical_models_installed():
        raise SystemExit(
            "UNDERSTUDY_GRAPHICAL_MODELS is on, and the extra `graphical` (mbi and JAX) is not installed: "
            "install it from the clone or wheel that understudy came from"
        )


@celeryd_after_setup.connect
def choose_queues(instance: Any, **_: object) -> None:  # noqa: ANN401 - celery has no types
    """Serve the trainings that this machine can run, where no queue was named; refuse GPU trainings that it cannot run.

    A message of the GPU's queue that a worker without a GPU took would be lost until upkeep sends it again.

    Raises:
        SystemExit: The queue of GPU trainings was named, and torch sees no GPU.
    """
    settings = read_settings()
    has_gpu = settings.training_device == "cuda" or (settings.training_device == "auto" and torch_sees_gpu())
    queues = instance.app.amqp.queues
    if set(queues.consume_from) == {ANY_DEVICE_QUEUE}:
        for kind in DEVICES if has_gpu else DEVICES[:1]:
            queues.select_add(queues.new_missing(TRAINING_QUEUES[kind]))
    elif TRAINING_QUEUES["gpu"] in queues.consume_from and not has_gpu:
        raise SystemExit(
            "The queue train.gpu was named, and torch sees no GPU here, or UNDERSTUDY_TRAINING_DEVICE is cpu: "
            "run this worker where torch sees a GPU, or leave train.gpu to others"
        )


@setup_logging.connect
def _log_events_only(**_: object) -> None:
    """Replace Celery's logging, which prints arguments and texts of exceptions; and leave no core dump."""
    leave_no_core()
    configure_logs(role="worker")
    logging.basicConfig(level=logging.WARNING, handlers=[NamesOnly()], force=True)


@worker_process_init.connect
def _tie_to_parent(**_: object) -> None:
    """Have a pool process die with the worker, and the child of its attempt with it."""
    die_with_parent(os.getppid())
    configure_logs(role="worker")


@worker_shutting_down.connect
def _hand_back(**_: object) -> None:
    """Do not wait for attempts at a warm shutdown: their jobs are resumed at the next start."""
    announce_stop()
