"""Quotes and jobs, as methods of the client: what a publication would cost, ordering one, and waiting for it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TypeVar

from understudy.calls import Call
from understudy.documents import Json
from understudy.exchange import Repetitions
from understudy.handling import bar_if, release_of
from understudy.jobs import calls
from understudy.jobs.results import POLL_SECONDS, Job, Quote
from understudy.releasing.results import Release

Result = TypeVar("Result")


class Jobs(ABC):
    """What a client does with jobs; how calls are sent is the client's."""

    _sleep: Callable[[float], None]
    """Waits, in seconds."""
    _patient: Repetitions
    """How often a job that is watched is looked at where no answer comes: it goes on meanwhile."""

    @abstractmethod
    def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a call and give its result."""

    @abstractmethod
    def read_release(self, release_id: str) -> Release:
        """Give a release."""

    def ask_quote(
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
        return self.run(
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

    def order_job(
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
    ) -> Job:
        """Order a publication (analyst), drawing on a grant. A lost answer is asked for again under one idempotency key."""
        return self.run(
            calls.order_job(
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
        )

    def list_jobs(self) -> tuple[Job, ...]:
        """Give the newest jobs."""
        return self.run(calls.list_jobs())

    def read_job(self, job_id: str) -> Job:
        """Give how far a job is."""
        return self.run(calls.read_job(job_id))

    def cancel_job(self, job_id: str) -> Job:
        """Cancel a job."""
        return self.run(calls.cancel_job(job_id))

    def watch_job(self, job_id: str, *, poll_seconds: float = POLL_SECONDS) -> Iterator[Job]:
        """Yield the job again and again until it has ended; the last one has. A service that restarts is waited for.

        Args:
            job_id: the job.
            poll_seconds: pause between two looks.
        """
        while True:
            job = self.run(calls.read_job(job_id), repetitions=self._patient)
            yield job
            if job.ended:
                return
            self._sleep(poll_seconds)

    def wait_for_release(
        self, job_id: str, *, poll_seconds: float = POLL_SECONDS, progress: bool = False
    ) -> Release:
        """Wait for a job's release.

        Args:
            job_id: the job.
            poll_seconds: pause between two looks.
            progress: whether a bar shows how far it is, in a terminal or a notebook.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        job = self.read_job(job_id)
        with bar_if(progress) as look:
            for job in self.watch_job(job_id, poll_seconds=poll_seconds):
                look(job)
        return self.read_release(release_of(job))
