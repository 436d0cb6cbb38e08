"""Jobs that an asynchronous client gives: the same facts, and waiting is awaited."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from understudy.documents import facts
from understudy.jobs.results import POLL_SECONDS, Job

if TYPE_CHECKING:
    from understudy.releasing.async_results import AsyncRelease


class AsyncWaiting(Protocol):
    """What a job asks of the client that gave it; see `understudy.jobs.results.Waiting`."""

    async def wait_for_release(
        self, job_id: str, *, poll_seconds: float = POLL_SECONDS, progress: bool = False
    ) -> "AsyncRelease":
        """Wait for a job's release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncJob(Job):
    """A `Job` whose release is awaited."""

    client: AsyncWaiting  # type: ignore[assignment]  # the twin of the base's

    @classmethod
    def of(cls, job: Job, client: AsyncWaiting) -> Self:
        """The job, as a client gives it."""
        return cls(**facts(job), client=client)

    async def wait(self, *, poll_seconds: float = POLL_SECONDS, progress: bool = True) -> "AsyncRelease":  # type: ignore[override]  # awaited
        """Wait for the release, with a progress bar in a terminal or a notebook; see `Job.wait`."""
        return await self.client.wait_for_release(self.id, poll_seconds=poll_seconds, progress=progress)
