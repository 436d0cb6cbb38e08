"""Quotes and jobs, as methods of the asynchronous client; the methods are those of `understudy.jobs.client`."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from understudy.calls import Call
from understudy.documents import Json
from understudy.exchange import Repetitions
from understudy.handling import bar_if, release_of
from understudy.jobs import calls
from understudy.jobs.async_results import AsyncJob
from understudy.jobs.results import POLL_SECONDS, Quote
from understudy.releasing.async_results import AsyncRelease

Result = TypeVar("Result")


class AsyncJobs(ABC):
    """What an asynchronous client does with jobs; how calls are sent is the client's."""

    _sleep: Callable[[float], Awaitable[None]]
    """Waits, in seconds."""
    _patient: Repetitions
    """How often a job that is watched is looked at where no answer comes: it goes on meanwhile."""

    @abstractmethod
    async def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a call and give its result."""

    @abstractmethod
    async def read_release(self, release_id: str) -> AsyncRelease:
        """Give a release."""

    async def ask_quote(
        self,
        dataset_id: str,
        *,
        epsilon: float,
        delta: float | None = None,
        synthesizer: str = "idpgan",
        options: Json | None = None,
        selection: Json | None = None,
        grant_id: str | None = None,
        reuse: bool = True,
    ) -> Quote:
        """Ask what a job would do and cost (analyst); nothing is spent."""
        return await self.run(
            calls.ask_quote(
                dataset_id,
                epsilon=epsilon,
                delta=delta,
                synthesizer=synthesizer,
                options=options,
                selection=selection,
                grant_id=grant_id,
                reuse=reuse,
            )
        )

    async def order_job(
        self,
        dataset_id: str,
        *,
        epsilon: float,
        delta: float | None = None,
        synthesizer: str = "idpgan",
        options: Json | None = None,
        selection: Json | None = None,
        grant_id: str | None = None,
        reuse: bool = True,
        idempotency_key: str | None = None,
    ) -> AsyncJob:
        """Order a publication (analyst), drawing on a grant. A lost answer is asked for again under one idempotency key."""
        call = calls.order_job(
            dataset_id,
            epsilon=epsilon,
            delta=delta,
            synthesizer=synthesizer,
            options=options,
            selection=selection,
            grant_id=grant_id,
            reuse=reuse,
            idempotency_key=idempotency_key,
        )
        return AsyncJob.of(await self.run(call), self)

    async def list_jobs(self) -> tuple[AsyncJob, ...]:
        """Give the newest jobs."""
        return tuple(AsyncJob.of(job, self) for job in await self.run(calls.list_jobs()))

    async def read_job(self, job_id: str) -> AsyncJob:
        """Give how far a job is."""
        return AsyncJob.of(await self.run(calls.read_job(job_id)), self)

    async def cancel_job(self, job_id: str) -> AsyncJob:
        """Cancel a job."""
        return AsyncJob.of(await self.run(calls.cancel_job(job_id)), self)

    async def watch_job(self, job_id: str, *, poll_seconds: float = POLL_SECONDS) -> AsyncIterator[AsyncJob]:
        """Yield the job again and again until it has ended; the last one has. A service that restarts is waited for.

        Args:
            job_id: the job.
            poll_seconds: pause between two looks.
        """
        while True:
            job = AsyncJob.of(await self.run(calls.read_job(job_id), repetitions=self._patient), self)
            yield job
            if job.ended:
                return
            await self._sleep(poll_seconds)

    async def wait_for_release(
        self, job_id: str, *, poll_seconds: float = POLL_SECONDS, progress: bool = False
    ) -> AsyncRelease:
        """Wait for a job's release.

        Args:
            job_id: the job.
            poll_seconds: pause between two looks.
            progress: whether a bar shows how far it is, in a terminal or a notebook.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        job = await self.read_job(job_id)
        with bar_if(progress) as look:
            async for job in self.watch_job(job_id, poll_seconds=poll_seconds):
                look(job)
        return await self.read_release(release_of(job))
