"""Telling a job that has measured from one that ended otherwise."""

from understudy.errors import JobCancelled, JobFailed
from understudy.jobs.results import Job


def report_of(job: Job) -> str:
    """Give the report of an ended job.

    Raises:
        JobFailed: if it failed, or is a job of another kind.
        JobCancelled: if it was cancelled.
    """
    charged = f"`understudy ledger {job.dataset_id}` says what it was charged"
    if job.state == "cancelled":
        message = f"job {job.id} was cancelled; {charged}"
        raise JobCancelled(message)
    report_id = job.document.get("report_id")
    if not isinstance(report_id, str):
        why = job.failure or "it is no order of a report"
        message = f"job {job.id} has no report ({why}); {charged}"
        raise JobFailed(message)
    return report_id
