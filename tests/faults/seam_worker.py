"""The worker of a drill: ``celery -A tests.faults.seam_worker worker``. The real one; its child is tests.faults.seam_runner."""

import os
from functools import cache
from uuid import UUID

from core.clock import SystemClock
from core.data.objects import open_store
from core.db.session import Database
from core.jobs.queue import CeleryQueue
from core.platform.settings import read_settings
from workers import app as worker
from workers.app import app
from workers.supervision import runner_command
from workers.training import Trainer

__all__ = ["app"]


def drill_command(job_id: UUID, fence: int) -> list[str]:
    """Start the drill's child in place of the real one."""
    return [
        "tests.faults.seam_runner" if word == "workers.runner" else word
        for word in runner_command(job_id, fence)
    ]


@cache
def drill_trainer() -> Trainer:
    """The trainer of this process, made after the fork, as the real one is."""
    settings = read_settings()
    return Trainer(
        settings,
        database=Database(settings.database_url, pool_size=1, max_overflow=1),
        store=open_store(settings.storage_url),
        queue=CeleryQueue(settings.broker_url),
        clock=SystemClock(),
        environment=os.environ,
        command=drill_command,
    )


worker.trainer = drill_trainer
