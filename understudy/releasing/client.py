"""Releases, as methods of the client: lists, certificates, bundles, and synthetic records in files or in memory."""

from abc import abstractmethod
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from understudy.asking import Answer
from understudy.calls import Call
from understudy.charged.client import Charging
from understudy.documents import Json
from understudy.exchange import Seen, unseen
from understudy.releasing import calls
from understudy.releasing.keeping import verifying_keeper
from understudy.releasing.results import Release
from understudy.rules import RulesCheck
from understudy.tables import drawn, require_form


class Releasing(Charging):
    """What a client does with releases; how calls are sent is the client's."""

    @abstractmethod
    def download(self, call: Call[None], target: Path, *, seen: Seen) -> None:
        """Write a streamed answer to a file, whole or not at all."""

    @abstractmethod
    def _stream(self, call: Call[None]) -> Iterator[bytes]:
        """Yield a streamed answer."""

    def list_releases(self) -> tuple[Release, ...]:
        """Give the newest releases."""
        return self.run(calls.list_releases())

    def read_release(self, release_id: str) -> Release:
        """Give a release."""
        return self.run(calls.read_release(release_id))

    def read_certificate(self, release_id: str) -> Json:
        """Give a release's certificate."""
        return self.run(calls.read_certificate(release_id))

    def ask_counts(self, release_id: str, question: str) -> Answer:
        """Answer a question from a release's noisy counts, with 95 % intervals. It costs nothing.

        Args:
            release_id: the release.
            question: such as "age by sex where region = north"; see docs/asking.md.

        Raises:
            InvalidInput: the question cannot be read, or names what is not declared.
            Conflict: the release holds no counts, or nothing can be said of these columns together.
        """
        return self.run(calls.ask_counts(release_id, question))

    def read_known_counts(self, dataset_id: str) -> Json:
        """Give which counts the releases of a dataset hold, and how precise they are. Asking them costs nothing."""
        return self.run(calls.read_known_counts(dataset_id))

    def check_rules(self, release_id: str) -> RulesCheck:
        """Hold the declared rules between columns against a release's noisy counts. It costs nothing.

        Raises:
            Conflict: the release holds no counts.
        """
        return self.run(calls.check_rules(release_id))

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
            release_id: the release.
            target: the file.
            seen: told the number of bytes of each piece received.
            public_keys: signing keys that you trust; the bundle is then verified, with understudy[audit], and written
                only if everything holds.

        Raises:
            VerificationFailed: if the bundle is not what its certificate states, or none of the keys has signed it.
            NotInstalled: keys are given, and a library to verify with is not installed.
        """
        if public_keys is None:
            self.download(calls.download_bundle(release_id), target, seen=seen)
            return
        keep = verifying_keeper()
        waiting = target.with_name(f"{target.name}.unverified")
        self.download(calls.download_bundle(release_id), waiting, seen=seen)
        keep(waiting, target, public_keys=public_keys)

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

        Without a format rows come as CSV and images as arrays (NPZ); see `understudy.sample_formats`. `where` fixes
        columns to values, such as `{"sick": "yes"}` (of images `{"label": "7"}`): the target by the generator's own
        condition, others by leaving out rows that differ; of numbers and times the bin of the value is fixed. A condition
        that fewer than one row in a thousand meets is refused. `spreadsheet_safe` puts an apostrophe before column names and
        words of a CSV file that a spreadsheet would run as formulas.
        """
        call = calls.draw_samples(
            release_id, rows=rows, file_format=file_format, where=where, spreadsheet_safe=spreadsheet_safe
        )
        self.download(call, target, seen=seen)

    def stream_samples(
        self, release_id: str, *, rows: int, file_format: str | None = None, where: Json | None = None
    ) -> Iterator[bytes]:
        """Yield synthetic rows or images as the bytes of a file, as they are drawn."""
        return self._stream(calls.draw_samples(release_id, rows=rows, file_format=file_format, where=where))

    def sample_release(
        self, release_id: str, *, rows: int, form: str = "pandas", where: Json | None = None
    ) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic rows or images into memory. It costs nothing, however many.

        Args:
            release_id: the release.
            rows: how many.
            form: "pandas" for a DataFrame, "arrow" for an Arrow table; "numpy" for the arrays of images.
            where: columns that are fixed, with their values; see `download_samples`.

        Raises:
            NotInstalled: a library is needed and not installed.
        """
        file_format = require_form(form)
        pieces = self.stream_samples(release_id, rows=rows, file_format=file_format, where=where)
        return drawn(b"".join(pieces), form=form)
