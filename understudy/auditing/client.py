"""The audit log, signed heads and verifications, as methods of ``client.auditing``."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from understudy.auditing import calls
from understudy.calls import Call
from understudy.documents import Json

Result = TypeVar("Result")
Download = Callable[[Call[None], Path], None]


class Run(Protocol):
    """Sends a call and gives its result."""

    def __call__(self, call: Call[Result]) -> Result:
        """Send it."""


class Auditing:
    """What auditors and admins look at, and what owners ask for about their own."""

    def __init__(self, run: Run, download: Download) -> None:
        """Keep how calls are sent.

        Args:
            run: sends a call and gives its result.
            download: writes a streamed answer to a file, whole or not at all.
        """
        self._run = run
        self._download = download

    def list_events(self, filters: Mapping[str, str] | None = None) -> Iterator[Json]:
        """Yield events of the audit log, newest first (auditor, admin).

        Args:
            filters: actor, action, object, outcome, from, to.
        """
        before: int | None = None
        while True:
            page, before = self._run(calls.list_events(filters or {}, before=before))
            yield from page
            if before is None:
                return

    def list_dataset_events(self, dataset_id: str) -> Iterator[Json]:
        """Yield what was done with a dataset and what hangs on it, newest first (owner, admin, auditor)."""
        before: int | None = None
        while True:
            page, before = self._run(calls.list_dataset_events(dataset_id, before=before))
            yield from page
            if before is None:
                return

    def export_log(
        self, target: Path, *, file_format: str = "jsonl", filters: Mapping[str, str] | None = None
    ) -> None:
        """Write the audit log to a file that ends with a signed trailer (auditor, admin)."""
        self._download(calls.export_log(filters or {}, file_format=file_format), target)

    def verify_log(self) -> Json:
        """Have the whole audit log verified (auditor, admin)."""
        return self._run(calls.verify_log())

    def read_ledger_head(self, dataset_id: str) -> Json:
        """Give the signed head of a dataset's ledger: keep it elsewhere, it proves what had happened."""
        return self._run(calls.read_ledger_head(dataset_id))

    def verify_ledger(self, dataset_id: str, *, witness: Json | None = None) -> Json:
        """Have a dataset's ledger verified, held against a head noted earlier if one is given."""
        return self._run(calls.verify_ledger(dataset_id, witness=witness))

    def list_signing_keys(self) -> tuple[Json, ...]:
        """Give the public keys that verify what the service signs."""
        return self._run(calls.list_signing_keys())

    def export_dossier(self, dataset_id: str, target: Path, *, file_format: str = "html") -> None:
        """Write the dossier of a dataset to a file: a paper, or signed JSON (owner, admin, auditor)."""
        self._download(calls.export_dossier(dataset_id, file_format=file_format), target)

    def delete_dataset(self, dataset_id: str) -> Json:
        """Destroy the key of a dataset's rows (owner, admin). It cannot be undone."""
        return self._run(calls.delete_dataset(dataset_id))

    def read_failure_note(self, job_id: str) -> Json:
        """Give the private account of a failed training (owner)."""
        return self._run(calls.read_failure_note(job_id))
