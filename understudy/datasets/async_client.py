"""Datasets, as methods of the asynchronous client; the methods are those of `understudy.datasets.client`."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from understudy.calls import Call
from understudy.datasets import calls
from understudy.datasets.results import Dataset, IntakeReport
from understudy.datasets.uploading import RESUMABLE_FROM_BYTES, Done, Pause, UploadSteps, upload_flow
from understudy.documents import Json
from understudy.errors import Refused
from understudy.exchange import Repetitions, Seen, unseen

Result = TypeVar("Result")


class AsyncDatasets(ABC):
    """What an asynchronous client does with datasets; how calls are sent is the client's."""

    url: str
    """Address of the service."""
    _patient: Repetitions
    """How often a part of a file is sent."""
    _sleep: Callable[[float], Awaitable[None]]
    """Waits, in seconds."""

    @abstractmethod
    async def run(self, call: Call[Result], *, repetitions: Repetitions | None = None) -> Result:
        """Send a call and give its result."""

    @abstractmethod
    async def send_file(self, call: Call[Result], file: Path, *, seen: Seen) -> Result:
        """Send a call whose body is a file, once."""

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
        max_refused: float | None = None,
    ) -> IntakeReport:
        """Send a file of rows to the service (owner).

        A large file goes in parts: what is lost on the way is sent again, and after an interruption, even of this
        process, the same call on the same file goes on where it was. Which upload a file belongs to stands next to it.

        Args:
            dataset_id: the dataset.
            rows: a ``.csv``, ``.csv.gz`` or ``.parquet`` file.
            seen: told the number of bytes of each piece sent, or found to be there.
            resumable_from: files of at least so many bytes go in parts; smaller ones at once, and are never repeated.
            declaration: remembered next to a large file; see `understudy.datasets.uploading.Remembered`.
            max_refused: the largest share of refused rows, from 0 to 1, with which the dataset takes the others at once; else
                the service's (one in fifty). Above it the report says `waiting`, and `accept_rows` or `discard_rows` decides.
        """
        call = calls.upload_rows(dataset_id, rows, max_refused=max_refused)
        if int(call.headers["Content-Length"]) >= max(1, resumable_from):
            return await self._upload_in_parts(
                dataset_id, rows, seen=seen, declaration=declaration, max_refused=max_refused
            )
        return await self.send_file(call, rows, seen=seen)

    async def _upload_in_parts(
        self, dataset_id: str, rows: Path, *, seen: Seen, declaration: str, max_refused: float | None
    ) -> IntakeReport:
        steps = UploadSteps(
            upload_flow(
                url=self.url,
                dataset_id=dataset_id,
                rows=rows,
                seen=seen,
                declaration=declaration,
                max_refused=max_refused,
            )
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

    async def accept_rows(self, dataset_id: str) -> IntakeReport:
        """Make the waiting rows those of the dataset, although many were refused (owner)."""
        return await self.run(calls.accept_rows(dataset_id))

    async def discard_rows(self, dataset_id: str) -> None:
        """Have the waiting rows destroyed (owner)."""
        await self.run(calls.discard_rows(dataset_id))

    async def read_intake_report(self, dataset_id: str) -> IntakeReport:
        """Give what happened to the uploaded rows (owner)."""
        return await self.run(calls.read_intake_report(dataset_id))
