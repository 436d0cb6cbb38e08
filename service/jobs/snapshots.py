"""States of jobs as the exact text that polling and event streams return."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from core.clock import Clock
from core.db.session import Database
from core.jobs.states import ENDED
from core.platform.access.roles import Principal
from service.edge.watching import JobSnapshot
from service.jobs import repository
from service.jobs.schemas import JobView


def snapshot(database: Database, job_id: UUID, principal: Principal, *, clock: Clock) -> JobSnapshot:
    """The current state of a job, if the principal may see it.

    Raises:
        JobNotFound: No such job, or not visible to this principal.
    """
    now = clock.now()
    row = database.autocommit_read(lambda session: repository.status(session, job_id, principal, at=now))
    return _of(row, now=now)


def snapshots(database: Database, job_ids: Collection[UUID], *, clock: Clock) -> dict[UUID, JobSnapshot]:
    """The current states of these jobs, without an access check."""
    now = clock.now()
    rows = database.autocommit_read(lambda session: repository.statuses(session, job_ids, at=now))
    return {row.id: _of(row, now=now) for row in rows}


def _of(row: Row[*tuple[Any, ...]], *, now: datetime) -> JobSnapshot:
    view = JobView.of(
        row, release_id=row.release_id, check=row.generator_check, worker_lives=row.worker_lives, now=now
    )
    return JobSnapshot.of(view.model_dump_json(), is_last=row.state in ENDED)
