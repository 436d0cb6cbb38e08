"""The audit log, signed heads and verifications, as methods of ``client.auditing`` of the asynchronous client."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from understudy.auditing import calls
from understudy.calls import Call
from understudy.documents import Json

Result = TypeVar("Result")
AsyncDownload = Callable[[Call[None], Path], Awaitable[None]]


class AsyncRun(Protocol):
    """Sends a call and gives its result."""

    async def __call__(self, call: Call[Result]) -> Result:
        """Send it."""


class AsyncAuditing:
    """As `Auditing`, for the asynchronous client."""

    def __init__(self, run: AsyncRun, download: AsyncDownload) -> None:
        """Keep how calls are sent.

        Args:
            run: sends a call and gives its result.
            download: writes a streamed answer to a file, whole or not at all.
        """
        self._run = run
        self._download = download

    async def list_events(self, filters: Mapping[str, str] | None = None) -> AsyncIterator[Json]:
        """Yield events of the audit log, newest first (auditor, admin).

        Args:
            filters: actor, action, object, outcome, from, to.
        """
        before: int | None = None
        while True:
            page, before = await self._run(calls.list_events(filters or {}, before=before))
            for event in page:
                yield event
            if before is None:
                return

    async def list_dataset_events(self, dataset_id: str) -> AsyncIterator[Json]:
        """Yield what was done with a dataset and what hangs on it, newest first (owner, admin, auditor)."""
        before: int | None = None
        while True:
            page, before = await self._run(calls.list_dataset_events(dataset_id, before=before))
            for event in page:
                yield event
            if before is None:
                return

    async def export_log(
        self, target: Path, *, file_format: str = "jsonl", filters: Mapping[str, str] | None = None
    ) -> None:
        """Write the audit log to a file that ends with a signed trailer (auditor, admin)."""
        await self._download(calls.export_log(filters or {}, file_format=file_format), target)

    async def verify_log(self) -> Json:
        """Have the whole audit log verified (auditor, admin)."""
        return await self._run(calls.verify_log())

    async def read_ledger_head(self, dataset_id: str) -> Json:
        """Give the signed head of a dataset's ledger: keep it elsewhere, it proves what had happened."""
        return await self._run(calls.read_ledger_head(dataset_id))

    async def verify_ledger(self, dataset_id: str, *, witness: Json | None = None) -> Json:
        """Have a dataset's ledger verified, held against a head noted earlier if one is given."""
        return await self._run(calls.verify_ledger(dataset_id, witness=witness))

    async def list_signing_keys(self) -> tuple[Json, ...]:
        """Give the public keys that verify what the service signs."""
        return await self._run(calls.list_signing_keys())

    async def export_dossier(self, dataset_id: str, target: Path, *, file_format: str = "html") -> None:
        """Write the dossier of a dataset to a file: a paper, or signed JSON (owner, admin, auditor)."""
        await self._download(calls.export_dossier(dataset_id, file_format=file_format), target)

    async def delete_dataset(self, dataset_id: str) -> Json:
        """Destroy the key of a dataset's rows (owner, admin). It cannot be undone."""
        return await self._run(calls.delete_dataset(dataset_id))

    async def read_failure_note(self, job_id: str) -> Json:
        """Give the private account of a failed training (owner)."""
        return await self._run(calls.read_failure_note(job_id))
