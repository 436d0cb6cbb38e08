"""Releases: certificates, bundles, answers from noisy counts, and synthetic records in files or in memory."""

import json
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

from understudy.asking import Answer
from understudy.async_client.backend import in_thread
from understudy.async_client.handles import AsyncRelease
from understudy.async_client.jobs import AsyncJobs
from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.http.calls import Call, items, read_nothing, read_object
from understudy.http.exchange import Seen, unseen
from understudy.results.jobs import POLL_SECONDS
from understudy.results.releases import verifying_keeper
from understudy.rules import RulesCheck
from understudy.sample_formats import FORMATS
from understudy.tables import drawn, require_form


class AsyncReleases(AsyncJobs):
    """The client's methods for releases."""

    async def list_releases(self) -> tuple[AsyncRelease, ...]:
        """Return the newest releases."""
        return await self.run(Call("GET", "/v1/releases", items(AsyncRelease.from_json)))

    async def read_release(self, release_id: str) -> AsyncRelease:
        """Return a release."""
        return await self.run(Call("GET", f"/v1/releases/{release_id}", AsyncRelease.from_json))

    async def wait_for_release(
        self, job_id: str, *, poll_seconds: float = POLL_SECONDS, progress: bool = False
    ) -> AsyncRelease:
        """Wait for a job's release.

        Args:
            poll_seconds: pause between two requests for its state.
            progress: whether to show a progress bar, in a terminal or a notebook.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        job = await self._ended(job_id, poll_seconds=poll_seconds, progress=progress)
        return await self.read_release(job.require_release())

    async def read_certificate(self, release_id: str) -> Json:
        """Return a release's certificate."""
        return await self.run(Call("GET", f"/v1/releases/{release_id}/certificate", read_object))

    async def ask_counts(self, release_id: str, question: str) -> Answer:
        """Answer a question from a release's noisy counts, with 95 % intervals. It costs nothing.

        Args:
            question: such as "age by sex where region = north"; see docs/asking.md.

        Raises:
            InvalidInput: if the question cannot be read, or names an undeclared column or value.
            Conflict: if the release holds no counts, or none that answer for these columns together.
        """
        path, query = f"/v1/releases/{release_id}/counts", {"question": question}
        return await self.run(Call("GET", path, Answer.from_json, query=query))

    async def read_known_counts(self, dataset_id: str) -> Json:
        """Return which counts the releases of a dataset hold, and how precise they are. Asking them costs nothing."""
        return await self.run(Call("GET", f"/v1/datasets/{dataset_id}/known-counts", read_object))

    async def read_precision(self, release_id: str, *, where: Json | None = None) -> Json:
        """Return a release's expected error, the standard errors of its noisy counts, and what their noise hides. It costs nothing.

        Args:
            where: conditions, see `download_samples`; `hidden` then says whether the noise hides the rows that meet them.
        """
        path, query = f"/v1/releases/{release_id}/precision", {} if not where else {"where": _as_text(where)}
        return await self.run(Call("GET", path, read_object, query=query))

    async def download_figures(self, release_id: str, target: Path, *, seen: Seen = unseen) -> None:
        """Write the released figures as one HTML file to pass on: guarantee in words, expected error, pictures. It costs nothing."""
        await self.download(
            Call("GET", f"/v1/releases/{release_id}/figures", read_nothing), target, seen=seen
        )

    async def check_rules(self, release_id: str) -> RulesCheck:
        """Compare the declared rules between columns with a release's noisy counts. It costs nothing.

        Raises:
            Conflict: if the release holds no counts.
        """
        return await self.run(Call("GET", f"/v1/releases/{release_id}/rules", RulesCheck.from_json))

    async def download_bundle(
        self,
        release_id: str,
        target: Path,
        *,
        seen: Seen = unseen,
        public_keys: Collection[bytes] | None = None,
    ) -> None:
        """Write the generator bundle to a file, whole or not at all.

        Args:
            seen: called with the number of bytes of each piece received.
            public_keys: signing keys that you trust; the bundle is then verified, with the extra `audit`, and written
                only if everything holds.

        Raises:
            VerificationFailed: if the bundle is not what its certificate states, or none of the keys has signed it.
            NotInstalled: if keys are given and a library to verify with is not installed.
        """
        call = Call("GET", f"/v1/releases/{release_id}/bundle", read_nothing)
        if public_keys is None:
            await self.download(call, target, seen=seen)
            return
        keep = verifying_keeper()
        waiting = target.with_name(f"{target.name}.unverified")
        await self.download(call, waiting, seen=seen)
        await in_thread(keep, waiting, target, public_keys=public_keys)

    async def download_samples(
        self,
        release_id: str,
        target: Path,
        *,
        rows: int,
        file_format: str | None = None,
        where: Json | None = None,
        spreadsheet_safe: bool = False,
        seen: Seen = unseen,
    ) -> None:
        """Write synthetic rows or images to a file, whole or not at all. It costs nothing, however many.

        Without a format rows come as CSV and images as arrays (NPZ); see `understudy.sample_formats`. `where` holds
        conditions by column, such as `{"sick": "yes", "ward": ["A", "B"], "age": {"from": 65, "below": 80}}` (of images `{"label": "7"}`):
        a value, a list of values, or a range. The target is fixed by the generator's own
        condition, others by rejecting rows that differ; of one number or time its bin is fixed. A condition
        that fewer than one row in a thousand meets is refused. `spreadsheet_safe` puts an apostrophe before column names
        and words of a CSV file that a spreadsheet would run as formulas.
        """
        call = _samples(release_id, rows, file_format, where, spreadsheet_safe=spreadsheet_safe)
        await self.download(call, target, seen=seen)

    def stream_samples(
        self, release_id: str, *, rows: int, file_format: str | None = None, where: Json | None = None
    ) -> AsyncIterator[bytes]:
        """Yield synthetic rows or images as the bytes of a file, as they are drawn."""
        return self.stream(_samples(release_id, rows, file_format, where))

    async def sample_release(
        self, release_id: str, *, rows: int, form: str = "pandas", where: Json | None = None
    ) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic rows or images into memory. It costs nothing, however many.

        Args:
            form: "pandas" for a DataFrame, "arrow" for an Arrow table; "numpy" for the arrays of images.
            where: conditions by column; see `download_samples`.

        Raises:
            NotInstalled: if a library is needed and not installed.
        """
        file_format = require_form(form)
        pieces = self.stream_samples(release_id, rows=rows, file_format=file_format, where=where)
        return drawn(b"".join([piece async for piece in pieces]), form=form)


def _as_text(where: Json) -> str:
    return json.dumps(dict(where), ensure_ascii=False)


def _samples(
    release_id: str, rows: int, file_format: str | None, where: Json | None, *, spreadsheet_safe: bool = False
) -> Call[None]:
    """Build the request for a stream of synthetic records; see `AsyncReleases.download_samples`.

    Raises:
        InputUnusable: if the format is none of ``FORMATS``.
    """
    if file_format is not None and file_format not in FORMATS:
        message = f"unknown format {file_format!r}; it is one of {', '.join(FORMATS)}"
        raise InputUnusable(message)
    query: dict[str, str | int] = {"rows": rows}
    if file_format is not None:
        query["format"] = file_format
    if where:
        query["where"] = _as_text(where)
    if spreadsheet_safe:
        query["spreadsheet_safe"] = "true"
    return Call("GET", f"/v1/releases/{release_id}/samples", read_nothing, query=query)
