"""Releases: certificates, bundles, answers from noisy counts, and synthetic records in files or in memory."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from understudy.asking import Answer
from understudy.client.backend import in_thread
from understudy.client.handles import Release
from understudy.client.jobs import Jobs
from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.http.calls import Call, items, read_nothing, read_object
from understudy.http.exchange import Seen, unseen
from understudy.results.jobs import POLL_SECONDS
from understudy.results.releases import verifying_keeper
from understudy.rules import RulesCheck
from understudy.sample_formats import FORMATS
from understudy.tables import drawn, require_form


class Releases(Jobs):
    """The client's methods for releases."""

    def list_releases(self) -> tuple[Release, ...]:
        """Return the newest releases."""
        return self.run(Call("GET", "/v1/releases", items(Release.from_json)))

    def read_release(self, release_id: str) -> Release:
        """Return a release."""
        return self.run(Call("GET", f"/v1/releases/{release_id}", Release.from_json))

    def wait_for_release(
        self, job_id: str, *, poll_seconds: float = POLL_SECONDS, progress: bool = False
    ) -> Release:
        """Wait for a job's release.

        Args:
            poll_seconds: pause between two requests for its state.
            progress: whether to show a progress bar, in a terminal or a notebook.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        job = self._ended(job_id, poll_seconds=poll_seconds, progress=progress)
        return self.read_release(job.require_release())

    def read_certificate(self, release_id: str) -> Json:
        """Return a release's certificate."""
        return self.run(Call("GET", f"/v1/releases/{release_id}/certificate", read_object))

    def ask_counts(self, release_id: str, question: str) -> Answer:
        """Answer a question from a release's noisy counts, with 95 % intervals. It costs nothing.

        Args:
            question: such as "age by sex where region = north"; see docs/asking.md.

        Raises:
            InvalidInput: if the question cannot be read, or names an undeclared column or value.
            Conflict: if the release holds no counts, or none that answer for these columns together.
        """
        path, query = f"/v1/releases/{release_id}/counts", {"question": question}
        return self.run(Call("GET", path, Answer.from_json, query=query))

    def read_known_counts(self, dataset_id: str) -> Json:
        """Return which counts the releases of a dataset hold, and how precise they are. Asking them costs nothing."""
        return self.run(Call("GET", f"/v1/datasets/{dataset_id}/known-counts", read_object))

    def read_precision(self, release_id: str, *, where: Json | None = None) -> Json:
        """Return a release's expected error, the standard errors of its noisy counts, and what their noise hides. It costs nothing.

        Args:
            where: conditions, see `download_samples`; `hidden` then says whether the noise hides the rows that meet them.
        """
        path, query = f"/v1/releases/{release_id}/precision", {} if not where else {"where": _as_text(where)}
        return self.run(Call("GET", path, read_object, query=query))

    def download_figures(self, release_id: str, target: Path, *, seen: Seen = unseen) -> None:
        """Write the released figures as one HTML file to pass on: guarantee in words, expected error, pictures. It costs nothing."""
        self.download(Call("GET", f"/v1/releases/{release_id}/figures", read_nothing), target, seen=seen)

    def check_rules(self, release_id: str) -> RulesCheck:
        """Compare the declared rules between columns with a release's noisy counts. It costs nothing.

        Raises:
            Conflict: if the release holds no counts.
        """
        return self.run(Call("GET", f"/v1/releases/{release_id}/rules", RulesCheck.from_json))

    def download_bundle(
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
            self.download(call, target, seen=seen)
            return
        keep = verifying_keeper()
        waiting = target.with_name(f"{target.name}.unverified")
        self.download(call, waiting, seen=seen)
        in_thread(keep, waiting, target, public_keys=public_keys)

    def download_samples(
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
        self.download(call, target, seen=seen)

    def stream_samples(
        self, release_id: str, *, rows: int, file_format: str | None = None, where: Json | None = None
    ) -> Iterator[bytes]:
        """Yield synthetic rows or images as the bytes of a file, as they are drawn."""
        return self.stream(_samples(release_id, rows, file_format, where))

    def sample_release(
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
        return drawn(b"".join(list(pieces)), form=form)


def _as_text(where: Json) -> str:
    return json.dumps(dict(where), ensure_ascii=False)


def _samples(
    release_id: str, rows: int, file_format: str | None, where: Json | None, *, spreadsheet_safe: bool = False
) -> Call[None]:
    """Build the request for a stream of synthetic records; see `Releases.download_samples`.

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
