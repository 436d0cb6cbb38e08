"""The asynchronous client: the same calls as `understudy.client`, sent from asyncio."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import httpx

from understudy import calls
from understudy.async_results import AsyncJob, AsyncRelease
from understudy.auditing.async_client import AsyncAuditing
from understudy.calls import Call
from understudy.errors import Refused
from understudy.exchange import (
    FIRST_ERROR,
    PIECE_BYTES,
    TIMEOUT,
    UPLOAD_TIMEOUT,
    Repetitions,
    Seen,
    headers_of,
    refused_by,
    result_of,
    trusts_environment,
    unreachable,
    unseen,
)
from understudy.governance.async_client import AsyncGovernance
from understudy.handling import bar_if, release_of
from understudy.notifying.async_client import AsyncNotifications
from understudy.releasing.async_client import AsyncReleasing
from understudy.results import (
    POLL_SECONDS,
    Budget,
    Dataset,
    IntakeReport,
    Json,
    NewKey,
    Quote,
    Statement,
)
from understudy.sealed_reporting.async_client import AsyncSealedReports
from understudy.uploading import RESUMABLE_FROM_BYTES, Done, Pause, UploadSteps, upload_flow

Result = TypeVar("Result")


class AsyncClient(AsyncReleasing):
    """One API key at one service, for asyncio; close it or use it as a context manager."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        transport: httpx.AsyncBaseTransport | None = None,
        repetitions: Repetitions | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Describe the connection; nothing is sent yet.

        Args:
            url: address of the service, without ``/v1``.
            key: the API key.
            transport: another way to send requests, for tests.
            repetitions: how often requests that may be sent twice are repeated.
            sleep: waits, in seconds.
        """
        self.url = url.rstrip("/")
        self._repetitions = repetitions or Repetitions()
        # A part that was not delivered is worth more patience than a question.
        self._patient = replace(self._repetitions, attempts=3 * self._repetitions.attempts)
        self._sleep = sleep
        self.governance = AsyncGovernance(self.run)
        self.auditing = AsyncAuditing(self.run, lambda call, target: self.download(call, target, seen=unseen))
        self.reports = AsyncSealedReports(
            self.run, lambda call, target: self.download(call, target, seen=unseen), self._sleep
        )
        self.notifications = AsyncNotifications(self.run)
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers=dict(headers_of(key)),
            timeout=TIMEOUT,
            transport=transport,
            trust_env=trusts_environment(self.url),
        )

    async def __aenter__(self) -> Self:
        """Give the client itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a call and give its result, repeating it where that is safe and may help.

        Args:
            call: the call.
            repetitions: how often it is repeated; else as often as this client does.

        Raises:
            ServiceUnreachable: if no answer came.
            Refused: if the service said no.
            UnexpectedAnswer: if the answer is not of the documented form.
        """
        attempt = 1
        while True:
            failure: httpx.HTTPError | httpx.Response
            try:
                failure = await self._http.send(self._request(call))
            except httpx.HTTPError as error:
                failure = error
            pause = (repetitions or self._repetitions).pause(call, failure, attempt=attempt)
            if pause is None:
                break
            await self._sleep(pause)
            attempt += 1
        if isinstance(failure, httpx.HTTPError):
            raise unreachable(self.url, failure) from failure
        return result_of(call, failure)

    def _request(self, call: Call[Result]) -> httpx.Request:
        return self._http.build_request(
            call.method,
            call.path,
            params=dict(call.query),
            json=call.body,
            content=call.content,
            headers=dict(call.headers),
        )

    async def declare_dataset(
        self,
        *,
        name: str,
        domain: Json,
        declared_size: int,
        rule: str | None = None,
        parent_dataset_id: str | None = None,
    ) -> Dataset:
        """Declare a private table (owner). See `calls.declare_dataset`."""
        return await self.run(
            calls.declare_dataset(
                name=name,
                domain=domain,
                declared_size=declared_size,
                rule=rule,
                parent_dataset_id=parent_dataset_id,
            )
        )

    async def list_datasets(self) -> tuple[Dataset, ...]:
        """Give all datasets that the key may see, newest first."""
        found: list[Dataset] = []
        before: str | None = None
        while True:
            page, before = await self.run(calls.list_datasets(before=before))
            found += page
            if before is None:
                return tuple(found)

    async def read_dataset(self, dataset_id: str) -> Dataset:
        """Give a dataset's public facts."""
        return await self.run(calls.read_dataset(dataset_id))

    async def upload_rows(
        self,
        dataset_id: str,
        rows: Path,
        *,
        seen: Seen = unseen,
        resumable_from: int = RESUMABLE_FROM_BYTES,
        declaration: str = "",
    ) -> IntakeReport:
        """Send a file of rows to the service (owner).

        A large file goes in parts: what is lost on the way is sent again, and after an interruption, even of this
        process, the same call on the same file goes on where it was. Which upload a file belongs to stands next to it.

        Args:
            dataset_id: the dataset.
            rows: a ``.csv``, ``.csv.gz`` or ``.parquet`` file.
            seen: told the number of bytes of each piece sent, or found to be there.
            resumable_from: files of at least so many bytes go in parts; smaller ones at once, and are never repeated.
            declaration: remembered next to a large file; see `understudy.uploading.Remembered`.
        """
        call = calls.upload_rows(dataset_id, rows)
        if int(call.headers["Content-Length"]) >= max(1, resumable_from):
            return await self._upload_in_parts(dataset_id, rows, seen=seen, declaration=declaration)
        try:
            response = await self._http.request(
                call.method,
                call.path,
                content=async_pieces(rows, seen),
                headers=dict(call.headers),
                timeout=UPLOAD_TIMEOUT,
            )
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error
        return result_of(call, response)

    async def _upload_in_parts(
        self, dataset_id: str, rows: Path, *, seen: Seen, declaration: str
    ) -> IntakeReport:
        steps = UploadSteps(
            upload_flow(url=self.url, dataset_id=dataset_id, rows=rows, seen=seen, declaration=declaration)
        )
        step = await asyncio.to_thread(steps.after, None)
        while not isinstance(step, Done):
            answer: object = None
            if isinstance(step, Pause):
                await self._sleep(step.seconds)
            else:
                try:
                    answer = await self.run(step, repetitions=self._patient)
                except Refused as refusal:
                    answer = refusal
            step = await asyncio.to_thread(steps.after, answer)
        return step.report

    async def read_intake_report(self, dataset_id: str) -> IntakeReport:
        """Give what happened to the uploaded rows (owner)."""
        return await self.run(calls.read_intake_report(dataset_id))

    async def set_budget(
        self, dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None
    ) -> Budget:
        """Set the cap of the dataset's population (admin); to raise one, say why."""
        return await self.run(calls.set_budget(dataset_id, epsilon=epsilon, delta=delta, reason=reason))

    async def read_budget(self, dataset_id: str) -> Budget:
        """Give the cap of the dataset's population."""
        return await self.run(calls.read_budget(dataset_id))

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
        """Yield the job again and again until it has ended; the last one has.

        Args:
            job_id: the job.
            poll_seconds: pause between two looks.
        """
        while True:
            job = await self.read_job(job_id)
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

    async def read_ledger(self, dataset_id: str) -> Statement:
        """Give the ledger statement of the dataset's population."""
        return await self.run(calls.read_ledger(dataset_id))

    async def create_key(self, *, name: str, roles: tuple[str, ...]) -> NewKey:
        """Make an API key (admin)."""
        return await self.run(calls.create_key(name=name, roles=roles))

    async def read_health_report(self) -> Json:
        """Examine the deployment: what is wrong with it and what to do. For admins and auditors."""
        return await self.run(calls.read_health_report())

    async def check_health(self) -> Json:
        """Ask whether the service lives."""
        return await self.run(calls.check_health())

    async def download(self, call: Call[None], target: Path, *, seen: Seen) -> None:
        """Write a streamed answer beside the target, then move it there.

        Args:
            call: the call.
            target: the file; replaced only by a complete answer.
            seen: told the number of bytes of each piece received.
        """
        partial = target.with_name(f"{target.name}.part")
        try:
            with partial.open("wb") as file:
                async for piece in self._stream(call):
                    await asyncio.to_thread(file.write, piece)
                    seen(len(piece))
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    async def _stream(self, call: Call[None]) -> AsyncIterator[bytes]:
        try:
            async with self._http.stream(call.method, call.path, params=dict(call.query)) as response:
                if response.status_code >= FIRST_ERROR:
                    await response.aread()
                    raise refused_by(response)
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx.HTTPError as error:
            raise unreachable(self.url, error) from error


async def async_pieces(file: Path, seen: Seen) -> AsyncIterator[bytes]:
    """Read a file in pieces of a mebibyte, off the event loop.

    Args:
        file: the file.
        seen: told the length of each piece once the next one is asked for.
    """
    with file.open("rb") as stream:
        while piece := await asyncio.to_thread(stream.read, PIECE_BYTES):
            yield piece
            seen(len(piece))
