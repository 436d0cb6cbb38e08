"""The Celery application: `celery -A workers.app worker --pool prefork --concurrency 1`.

A message is a hint, so it is acknowledged late and taken one at a time; nothing is kept of its result. Celery's own
handling of errors would log their texts, so the task raises nothing (workers.training).
"""

import logging
import os
from typing import Any, ClassVar, Final

import structlog
from celery import Celery, Task, bootsteps
from celery.signals import celeryd_init, setup_logging, worker_process_init, worker_shutting_down

from core.clock import SystemClock
from core.crashes import leave_no_core
from core.db.session import Database
from core.health.signs import SIGN_SECONDS, HealthReporter
from core.jobs.queue import COUNTING_TASK, REPORT_TASK, TRAINING_TASK, broker_transport_options
from core.logs import configure_logs, get_logger, is_request_id
from core.settings import read_settings
from core.synthesis.installed import graphical_models_installed
from workers.counting import count_by_message
from workers.devices import devices
from workers.lifeline import die_with_parent
from workers.reporting import report_by_message
from workers.stopping import tell_to_stop
from workers.training import train_by_message

QUEUE: Final = "celery"


def _configuration() -> dict[str, Any]:
    """Celery's settings; read when they are first needed, so that importing this module needs no environment."""
    return {
        "broker_url": read_settings().broker_url,
        "broker_transport_options": broker_transport_options(),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_ignore_result": True,
        "task_default_queue": QUEUE,
        "task_serializer": "json",
        "accept_content": ["json"],
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_send_task_events": False,
        # A training that finished while its worker's connection was lost must not run twice.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "enable_utc": True,
    }


app: Final = Celery("understudy", set_as_current=False)
app.add_defaults(_configuration)


def train(task: Task, job_id: str) -> None:
    """Serve a message under the request that it belongs to, if it names one of ours."""
    named = task.request.get("request_id")
    with structlog.contextvars.bound_contextvars(**({"request_id": named} if is_request_id(named) else {})):
        train_by_message(job_id)


def report(task: Task, report_id: str) -> None:
    """Serve a message about a sealed report in the same way."""
    named = task.request.get("request_id")
    with structlog.contextvars.bound_contextvars(**({"request_id": named} if is_request_id(named) else {})):
        report_by_message(report_id)


def count(task: Task, job_id: str, fence: int) -> None:
    """Serve a message that asks for help with counting in the same way."""
    named = task.request.get("request_id")
    with structlog.contextvars.bound_contextvars(**({"request_id": named} if is_request_id(named) else {})):
        count_by_message(job_id, fence)


app.task(name=COUNTING_TASK, bind=True)(count)
app.task(name=TRAINING_TASK, bind=True)(train)
app.task(name=REPORT_TASK, bind=True)(report)


class SignsOfLife(bootsteps.StartStopStep):  # type: ignore[misc]  # celery has no types
    """Has the worker's main process give a sign of life at intervals, for as long as its loop turns."""

    requires: ClassVar = {"celery.worker.components:Timer"}

    def start(self, parent: Any) -> None:  # noqa: ANN401 - celery has no types
        """Begin, with a sign at once."""
        settings = read_settings()
        # One connection, and none between two signs: the pool's processes are forked from this one.
        database = Database(settings.database_url, pool_size=1, max_overflow=0)
        health = HealthReporter(database, clock=SystemClock(), role="worker", find_devices=devices)

        def sign() -> None:
            health.sign()
            database.close()

        sign()
        parent.timer.call_repeatedly(SIGN_SECONDS, sign)


app.steps["worker"].add(SignsOfLife)


class NamesOnly(logging.Handler):
    """What libraries log, without their words: which library, how grave, and the class of an exception."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the bare fact."""
        get_logger().warning(
            "library-log", library=record.name, grade=record.levelname, exc_info=record.exc_info or None
        )


@celeryd_init.connect
def _require_libraries(**_: object) -> None:
    """Do not start without the libraries of what the operator has the service sell: such a job would be claimed and paid for.

    Raises:
        SystemExit: They are not installed.
    """
    if read_settings().graphical_models == "on" and not graphical_models_installed():
        raise SystemExit(
            "UNDERSTUDY_GRAPHICAL_MODELS is on, and the extra `graphical` (mbi and JAX) is not installed: "
            "pip install 'understudy[graphical]'"
        )


@setup_logging.connect
def _log_events_only(**_: object) -> None:
    """Replace Celery's logging, which prints arguments and the texts of exceptions, by ours; and leave no core dump."""
    leave_no_core()
    configure_logs(role="worker")
    logging.basicConfig(level=logging.WARNING, handlers=[NamesOnly()], force=True)


@worker_process_init.connect
def _tie_to_parent(**_: object) -> None:
    """A pool process dies with the worker, and its training child with it."""
    die_with_parent(os.getppid())
    configure_logs(role="worker")


@worker_shutting_down.connect
def _hand_back(**_: object) -> None:
    """Do not wait for trainings at a warm shutdown: they go on at the next start."""
    tell_to_stop()
