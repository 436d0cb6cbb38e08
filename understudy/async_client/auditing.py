"""``client.auditing``: the audit log, signed ledger heads, signing keys, dossiers and the destruction of datasets."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from understudy.async_client.session import AsyncSession
from understudy.documents import Json
from understudy.http.calls import Call, items, read_anything, read_nothing, read_object

EXPORT_FORMATS = ("jsonl", "csv")
DOSSIER_FORMATS = ("html", "json")


class AsyncAuditing:
    """For auditors and admins, and for owners about their own datasets."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    def list_events(self, filters: Mapping[str, str] | None = None) -> AsyncIterator[Json]:
        """Yield the events of the audit log, newest first (auditor, admin); filters are actor, action, object, outcome, from and to."""
        return self._session.pages("/v1/audit", read_anything, query=filters)

    def list_dataset_events(self, dataset_id: str) -> AsyncIterator[Json]:
        """Yield the audit trail of a dataset and of its jobs, releases and grants, newest first (owner, admin, auditor)."""
        return self._session.pages(f"/v1/datasets/{dataset_id}/audit", read_anything)

    async def export_log(
        self, target: Path, *, file_format: str = "jsonl", filters: Mapping[str, str] | None = None
    ) -> None:
        """Write the audit log to a file that ends with a signed trailer (auditor, admin)."""
        query = {"format": file_format, **(filters or {})}
        await self._session.download(Call("GET", "/v1/audit/export", read_nothing, query=query), target)

    async def verify_log(self) -> Json:
        """Have the service verify the whole audit log (auditor, admin)."""
        return await self._session.run(Call("GET", "/v1/audit/verification", read_object))

    async def read_ledger_head(self, dataset_id: str) -> Json:
        """Return the signed head of a dataset's ledger. Kept elsewhere, it proves later what the ledger held."""
        return await self._session.run(Call("GET", f"/v1/datasets/{dataset_id}/ledger/head", read_object))

    async def verify_ledger(self, dataset_id: str, *, witness: Json | None = None) -> Json:
        """Have the service verify a dataset's ledger, against a head kept earlier if one is given."""
        query = {} if witness is None else {"sequence": witness["sequence"], "hash": witness["hash"]}
        path = f"/v1/datasets/{dataset_id}/ledger/verification"
        return await self._session.run(Call("GET", path, read_object, query=query))

    async def list_signing_keys(self) -> tuple[Json, ...]:
        """Return the public keys that verify what the service signs."""
        return await self._session.run(Call("GET", "/v1/signing-keys", items(read_anything)))

    async def export_dossier(self, dataset_id: str, target: Path, *, file_format: str = "html") -> None:
        """Write the dossier of a dataset to a file, as HTML for people or as signed JSON (owner, admin, auditor)."""
        call = Call("GET", f"/v1/datasets/{dataset_id}/dossier", read_nothing, query={"format": file_format})
        await self._session.download(call, target)

    async def delete_dataset(self, dataset_id: str) -> Json:
        """Destroy the key of a dataset's rows (owner, admin). It cannot be undone."""
        return await self._session.run(Call("DELETE", f"/v1/datasets/{dataset_id}", read_object))

    async def read_failure_note(self, job_id: str) -> Json:
        """Return the private account of a failed training (owner)."""
        return await self._session.run(Call("GET", f"/v1/jobs/{job_id}/failure-note", read_object))
