"""Moving waiting trainings to the kind of device that live workers serve.

A step that is taken again on another kind of device would release a second, differently rounded sum under the same noise. So a job
moves only while nothing private has begun: before its first mark. From then on it waits for a worker of its kind.
"""

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.session import on_commit
from core.db.tables.job import Job
from core.jobs.endings import requeue
from core.jobs.leases import BATCH, JOBS
from core.jobs.states import JobState
from core.jobs.turns import announce
from core.plan.devices import DEVICES, Device

if TYPE_CHECKING:
    from core.jobs.queue import Queue


def move_unserved(
    session: Session, *, served: Collection[Device], now: datetime, queue: "Queue"
) -> list[UUID]:
    """Move jobs whose kind of device no live worker serves to the kind that one does, and announce them after the commit. Returns their ids.

    Only jobs whose order left the kind to the service move. Rows that are locked are skipped.
    """
    if len(set(served)) != 1:
        return []
    (device,) = set(served)
    stranded = (
        select(Job)
        .where(
            JOBS.are_claimable(now),
            Job.device.in_([other for other in DEVICES if other != device]),
            Job.device_wish == "auto",
            Job.stage.is_(None),
        )
        .order_by(Job.created_at)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    jobs = session.scalars(stranded).all()
    for job in jobs:
        job.device = device
        if job.state == JobState.RUNNING.value:
            # Its worker may only be late: put back, it can write no mark any more.
            requeue(session, job, at=now, queue=queue)
        else:
            job.sent_at = now
            on_commit(session, partial(announce, queue, job.id, job.plan, job.device))
    session.flush()
    return [job.id for job in jobs]
