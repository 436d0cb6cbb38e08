"""The task `understudy.count`: start a child that helps a training to count, and watch it.

The task opens no rows and writes nothing down. Its messages have a queue of their own, which only workers serve that the
operator started for it (`--queues counting`): how long a shard takes depends on rows, and a worker that takes trainings or
reports must not be free sooner or later because of it.
"""

import os
import sys
from functools import cache
from uuid import UUID

import structlog

from core.logs import get_logger
from core.settings import Settings, read_settings
from workers.stopping import stop_announced, stop_noticed
from workers.supervision import Child, Limits, child_environment, watch


def runner_command(job_id: UUID, fence: int) -> list[str]:
    """The command line of the child: opaque numbers only, never a secret."""
    words = ["-m", "workers.counting_runner", str(job_id), str(fence), "--parent", str(os.getpid())]
    return [sys.executable, *words]


@cache
def _settings() -> Settings:
    return read_settings()


def count_by_message(job_id: str, fence: int) -> None:
    """Help the attempt of a job. Raises nothing: a message is a hint, and a training counts without help too."""
    with structlog.contextvars.bound_contextvars(job_id=job_id):
        try:
            settings = _settings()
            with stop_noticed():
                child = Child(
                    runner_command(UUID(job_id), int(fence)), child_environment(os.environ, threads=1)
                )
                watch(
                    child,
                    limits=Limits(
                        memory_bytes=settings.training_memory_bytes, seconds=settings.training_seconds
                    ),
                    heartbeat_seconds=settings.heartbeat_seconds,
                    heartbeat=lambda: None,
                    stopping=stop_announced,
                )
        except Exception:  # noqa: BLE001 - the class is logged, the text is not
            get_logger().error("task-broke-off", exc_info=True)
