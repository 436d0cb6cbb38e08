"""What both clients do with jobs and releases: bind them, show them, and tell an end with a release from one without."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Protocol, TypeVar, cast

from understudy.errors import JobCancelled, JobFailed
from understudy.jobs.results import Job, Waiting
from understudy.releasing.results import Offering, Release

Result = TypeVar("Result")


class Handling(Waiting, Offering, Protocol):
    """What jobs and releases ask of the client that gave them."""


def bound(result: Result, client: Handling) -> Result:
    """Let jobs and releases know the client that gave them.

    Args:
        result: any result of a call.
        client: the client.
    """
    if isinstance(result, Job):
        return replace(result, client=client)
    if isinstance(result, Release):
        return replace(result, client=client)
    if isinstance(result, tuple):
        return cast("Result", tuple(bound(each, client) for each in result))
    return result


def bar_if(wanted: bool) -> AbstractContextManager[Callable[[Job], None]]:
    """Give a progress bar of a job, or nothing."""
    if not wanted:
        return nullcontext(lambda _job: None)
    from understudy.training_bar import training_bar

    return training_bar()


def release_of(job: Job) -> str:
    """Give the release of an ended job.

    Args:
        job: the job.

    Raises:
        JobFailed: if it failed.
        JobCancelled: if it was cancelled.
    """
    if job.state == "cancelled":
        message = f"job {job.id} was cancelled; `understudy ledger {job.dataset_id}` says what it was charged"
        raise JobCancelled(message)
    if job.release_id is None:
        why = job.failure or "no reason was given"
        message = (
            f"job {job.id} failed ({why}); `understudy ledger {job.dataset_id}` says what it was charged"
        )
        raise JobFailed(message)
    return job.release_id
