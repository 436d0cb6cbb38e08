"""Quotes and jobs: what a publication would cost, ordering one, and watching it."""

import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

from understudy.async_client.handles import AsyncJob
from understudy.async_client.session import AsyncSession
from understudy.documents import Json
from understudy.http.calls import Call, given, items
from understudy.results.jobs import POLL_SECONDS, Quote
from understudy.training_bar import bar_if


class AsyncJobs(AsyncSession):
    """The client's methods for quotes and jobs."""

    async def ask_quote(
        self,
        dataset_id: str,
        *,
        epsilon: float,
        delta: float | None = None,
        synthesizer: str = "idpgan",
        options: Json | None = None,
        selection: Json | None = None,
        model: Json | None = None,
        grant_id: str | None = None,
        further: Sequence[str] = (),
        federation: Json | None = None,
        reuse: bool = True,
        device: str = "auto",
    ) -> Quote:
        """Ask what a job would do and cost (analyst); nothing is spent.

        Args:
            delta: of the job; by default the service's.
            synthesizer: how the generator is made.
            selection: ``candidates``, the ``epsilon`` of each on its part of the units, and the ``choice_epsilon``; the
                candidates then bring the options.
            model: options of a classifier to train instead of a generator; empty for the public rules.
            grant_id: the grant that pays; by default the only open one in which the order fits.
            further: datasets of other owners, with the same domain, to train a `model`, or a generator from counts, on together; the
                only open grant on each pays for it. Every ledger is charged the whole job, or none is.
            federation: the board, token and plan of a federation in which a `model` or a generator is trained (`understudy member`).
            reuse: whether the job takes over counts of earlier releases.
            device: kind of device to train on, "cpu" or "gpu"; "auto" leaves it to the service's public rule.
        """
        body = _order(
            dataset_id,
            epsilon,
            delta,
            synthesizer,
            options,
            selection,
            model,
            grant_id,
            further,
            federation=federation,
            reuse=reuse,
            device=device,
        )
        return await self.run(Call("POST", "/v1/quotes", Quote.from_json, body=body))

    async def order_job(
        self,
        dataset_id: str,
        *,
        epsilon: float,
        delta: float | None = None,
        synthesizer: str = "idpgan",
        options: Json | None = None,
        selection: Json | None = None,
        model: Json | None = None,
        grant_id: str | None = None,
        further: Sequence[str] = (),
        federation: Json | None = None,
        reuse: bool = True,
        device: str = "auto",
        idempotency_key: str | None = None,
    ) -> AsyncJob:
        """Order a publication (analyst), drawing on a grant; see `ask_quote`.

        A retry is the same order, because it carries the same idempotency key: it spends once.
        """
        body = _order(
            dataset_id,
            epsilon,
            delta,
            synthesizer,
            options,
            selection,
            model,
            grant_id,
            further,
            federation=federation,
            reuse=reuse,
            device=device,
        )
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return await self.run(Call("POST", "/v1/jobs", AsyncJob.from_json, body=body, headers=headers))

    async def list_jobs(self) -> tuple[AsyncJob, ...]:
        """Return the newest jobs."""
        return await self.run(Call("GET", "/v1/jobs", items(AsyncJob.from_json)))

    async def read_job(self, job_id: str) -> AsyncJob:
        """Return the state and progress of a job."""
        return await self.run(Call("GET", f"/v1/jobs/{job_id}", AsyncJob.from_json))

    async def cancel_job(self, job_id: str) -> AsyncJob:
        """Cancel a job; repeating it changes nothing."""
        headers = {"Idempotency-Key": f"cancel-{job_id}"}
        return await self.run(Call("POST", f"/v1/jobs/{job_id}/cancel", AsyncJob.from_json, headers=headers))

    async def watch_job(self, job_id: str, *, poll_seconds: float = POLL_SECONDS) -> AsyncIterator[AsyncJob]:
        """Yield the job again and again, after pauses, until it has ended. It goes on through a restart of the service."""
        call = Call("GET", f"/v1/jobs/{job_id}", AsyncJob.from_json)
        while True:
            job = await self.run(call, repetitions=self.patient)
            yield job
            if job.ended:
                return
            await self.sleep(poll_seconds)

    async def _ended(self, job_id: str, *, poll_seconds: float, progress: bool) -> AsyncJob:
        """Watch a job to its end, with a progress bar if one is wanted."""
        with bar_if(progress) as show:
            async for job in self.watch_job(job_id, poll_seconds=poll_seconds):
                show(job)
        return job


def _order(
    dataset_id: str,
    epsilon: float,
    delta: float | None,
    synthesizer: str,
    options: Json | None,
    selection: Json | None,
    model: Json | None,
    grant_id: str | None,
    further: Sequence[str],
    *,
    federation: Json | None,
    reuse: bool,
    device: str,
) -> dict[str, Any]:
    order = {
        "dataset_id": dataset_id,
        "epsilon": epsilon,
        "delta": delta,
        "synthesizer": synthesizer,
        "selection": selection,
        "model": model,
        "grant_id": grant_id,
        "federation": federation,
    }
    several = {"further_datasets": [{"dataset_id": each} for each in further]} if further else {}
    return (
        given(order)
        | {"options": options or {}}
        | ({} if reuse else {"reuse": False})
        | several
        | ({} if device == "auto" else {"device": device})
    )
