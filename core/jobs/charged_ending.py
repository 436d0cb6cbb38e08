"""How a job that measured ends well: with a charged report instead of a release."""

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.charged_report import ChargedReport
from core.jobs.endings import end
from core.jobs.leases import Claim, locked
from core.jobs.states import JobState


def finish_report(
    session: Session, claim: Claim, *, report_id: UUID, document: dict[str, Any], clock: Clock
) -> ChargedReport:
    """Publish: the job succeeds and its report exists, in one transaction.

    Args:
        session: the open transaction.
        claim: whose report.
        report_id: fixed by the job.
        document: signed.
        clock: stamps the end.

    Raises:
        LeaseLost: the claim does not hold the job, so nothing is published.
    """
    job = locked(session, claim)
    now = clock.now()
    end(job, JobState.SUCCEEDED, at=now)
    report = ChargedReport(
        id=report_id,
        job_id=job.id,
        release_id=UUID(document["release_id"]),
        dataset_id=job.dataset_id,
        document=document,
        created_at=now,
    )
    session.add(report)
    session.flush()
    return report
