"""Releases as frozen values, and what one can do with them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from understudy.asking import Answer
from understudy.documents import Json, handled, take
from understudy.rules import RulesCheck

if TYPE_CHECKING:
    from understudy.charged.results import ReportJob


class Offering(Protocol):
    """What a release asks of the client that gave it."""

    def sample_release(self, release_id: str, *, rows: int, form: str, where: Json | None) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic records into memory."""

    def download_bundle(
        self, release_id: str, target: Path, *, public_keys: Collection[bytes] | None
    ) -> None:
        """Write the generator bundle to a file."""

    def read_certificate(self, release_id: str) -> Json:
        """Give a release's certificate."""

    def ask_counts(self, release_id: str, question: str) -> Answer:
        """Answer a question from a release's noisy counts."""

    def check_rules(self, release_id: str) -> RulesCheck:
        """Hold the declared rules against a release's noisy counts."""

    reports: Any
    """Sealed reports, for owners; see `understudy.sealed_reporting`."""

    def order_charged_report(
        self,
        release_id: str,
        *,
        epsilon: float,
        delta: float | None,
        target: str | None,
        columns: Sequence[str] | None,
        grant_id: str | None,
    ) -> "ReportJob":
        """Order a charged report about a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A published generator.

    Attributes:
        id: its id.
        job_id: the job that made it.
        dataset_id: the dataset it is an understudy of.
        document: the whole answer.
        client: the client that gave it.
    """

    id: str
    job_id: str
    dataset_id: str
    document: Json
    client: Offering | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        known = ("id", "job_id", "dataset_id")
        return cls(**dict(zip(known, take(document, *known), strict=True)), document=document)

    @property
    def certificate(self) -> Json:
        """What was spent, by which mechanism; asked for each time."""
        return handled(self.client).read_certificate(self.id)

    def sample(self, rows: int, *, form: str = "pandas", where: Json | None = None) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic rows or images into memory. It costs nothing, however many.

        Args:
            rows: how many.
            form: "pandas" for a DataFrame, "arrow" for an Arrow table; "numpy" for the arrays of images.
            where: columns that are fixed, with their values; see `Client.download_samples`.

        Raises:
            NotInstalled: a library is needed and not installed.
        """
        return handled(self.client).sample_release(self.id, rows=rows, form=form, where=where)

    def ask(self, question: str) -> Answer:
        """Answer a question from the noisy counts, with 95 % intervals. It costs nothing; see `Client.ask_counts`."""
        return handled(self.client).ask_counts(self.id, question)

    def check_rules(self) -> RulesCheck:
        """Hold the declared rules against the noisy counts. It costs nothing; see `Client.check_rules`."""
        return handled(self.client).check_rules(self.id)

    def save(self, target: Path | str, *, public_keys: Collection[bytes] | None = None) -> Path:
        """Write the generator bundle to a file, whole or not at all.

        Args:
            target: the file.
            public_keys: signing keys that you trust; the bundle is then verified first.

        Raises:
            VerificationFailed: if keys are given and the bundle does not hold.
            NotInstalled: if keys are given and a library to verify with is not installed.
        """
        file = Path(target)
        handled(self.client).download_bundle(self.id, file, public_keys=public_keys)
        return file

    def order_report(
        self,
        *,
        epsilon: float,
        delta: float | None = None,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        grant_id: str | None = None,
    ) -> "ReportJob":
        """Order a charged report (analyst): how far the release is from its dataset, for a small epsilon of its own.

        Args:
            epsilon: of the report; `Client.quote_charged_report` says before what it costs and how precise it is.
            delta: of the report; else the service's usual one.
            target: the column that a classifier, trained on synthetic records, predicts; else the target of the domain.
            columns: columns to measure; else all. Fewer are measured more precisely.
            grant_id: the grant that pays; else the only open one.
        """
        return handled(self.client).order_charged_report(
            self.id, epsilon=epsilon, delta=delta, target=target, columns=columns, grant_id=grant_id
        )

    def sealed_report(self, target_file: Path | str, *, target: str | None = None) -> Path:
        """Have the release compared with the real rows and write the report (owner); NOT differentially private.

        Args:
            target_file: the HTML file; only this user can read it.
            target: the column to predict from the others; else the domain's target, or the last column.

        Raises:
            ReportNotMade: it could not be made.
        """
        file: Path = handled(self.client).reports.make(self.id, target_file, target=target)
        return file
