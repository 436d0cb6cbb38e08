"""Jobs and releases bound to the client that returned them. They share a file because each leads to the other."""

from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from understudy.asking import Answer
from understudy.documents import Json, handled
from understudy.results.jobs import POLL_SECONDS, JobFacts, ReportJobFacts
from understudy.results.releases import ReleaseFacts
from understudy.results.utility_reports import UtilityReport
from understudy.rules import RulesCheck

Result = TypeVar("Result")


class AsyncGiver(Protocol):
    """The methods of a client that its jobs and releases use."""

    reports: Any
    """Owner reports; see `understudy.async_client.owner_reports`."""

    async def wait_for_release(self, job_id: str, *, poll_seconds: float, progress: bool) -> "AsyncRelease":
        """Wait for a job's release."""

    async def wait_for_charged_report(
        self, job_id: str, *, poll_seconds: float, progress: bool
    ) -> UtilityReport:
        """Wait for a job's utility report."""

    async def sample_release(self, release_id: str, *, rows: int, form: str, where: Json | None) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic records into memory."""

    async def download_bundle(
        self, release_id: str, target: Path, *, public_keys: Collection[bytes] | None
    ) -> None:
        """Write the generator bundle to a file."""

    async def read_certificate(self, release_id: str) -> Json:
        """Return a release's certificate."""

    async def ask_counts(self, release_id: str, question: str) -> Answer:
        """Answer a question from a release's noisy counts."""

    async def check_rules(self, release_id: str) -> RulesCheck:
        """Compare the declared rules with a release's noisy counts."""

    async def order_charged_report(
        self,
        release_id: str,
        *,
        epsilon: float,
        delta: float | None,
        target: str | None,
        columns: Sequence[str] | None,
        grant_id: str | None,
    ) -> "AsyncReportJob":
        """Order a utility report about a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncJob(JobFacts):
    """One ordered publication, which can be waited for; without a client if it was read from a document."""

    client: AsyncGiver | None = field(default=None, repr=False, compare=False)

    async def wait(self, *, poll_seconds: float = POLL_SECONDS, progress: bool = True) -> "AsyncRelease":
        """Wait for the release, with a progress bar in a terminal or a notebook.

        Args:
            poll_seconds: pause between two requests for its state.
            progress: whether to show a bar; a pipe never gets one.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        return await handled(self.client).wait_for_release(
            self.id, poll_seconds=poll_seconds, progress=progress
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncReportJob(ReportJobFacts):
    """An ordered utility report: a job that publishes no release; without a client if it was read from a document."""

    client: AsyncGiver | None = field(default=None, repr=False, compare=False)

    async def wait(self, *, poll_seconds: float = POLL_SECONDS, progress: bool = True) -> "AsyncReportJob":
        """Wait until it has succeeded; `report()` then asks once more, for the report.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        await self.report(poll_seconds=poll_seconds, progress=progress)
        return self

    async def report(self, *, poll_seconds: float = POLL_SECONDS, progress: bool = False) -> UtilityReport:
        """Return the report; wait for it if it is not there yet.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
            InputUnusable: if it was read from a document and not returned by a client.
        """
        return await handled(self.client).wait_for_charged_report(
            self.id, poll_seconds=poll_seconds, progress=progress
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncRelease(ReleaseFacts):
    """A published generator; without a client if it was read from a document."""

    client: AsyncGiver | None = field(default=None, repr=False, compare=False)

    @property
    def certificate(self) -> Awaitable[Json]:
        """The certificate: the epsilon and delta that were spent, and the mechanism; requested on each access."""
        return handled(self.client).read_certificate(self.id)

    async def sample(self, rows: int, *, form: str = "pandas", where: Json | None = None) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic rows or images into memory. It costs nothing, however many.

        Args:
            form: "pandas" for a DataFrame, "arrow" for an Arrow table; "numpy" for the arrays of images.
            where: columns that are fixed, with their values; see the client's `download_samples`.

        Raises:
            NotInstalled: if a library is needed and not installed.
        """
        return await handled(self.client).sample_release(self.id, rows=rows, form=form, where=where)

    async def ask(self, question: str) -> Answer:
        """Answer a question from the noisy counts, with 95 % intervals. It costs nothing; see the client's `ask_counts`."""
        return await handled(self.client).ask_counts(self.id, question)

    async def check_rules(self) -> RulesCheck:
        """Compare the declared rules with the noisy counts. It costs nothing; see the client's `check_rules`."""
        return await handled(self.client).check_rules(self.id)

    async def save(self, target: Path | str, *, public_keys: Collection[bytes] | None = None) -> Path:
        """Write the generator bundle to a file, whole or not at all. With signing keys that you trust it is verified first.

        Raises:
            VerificationFailed: if keys are given and the bundle does not hold.
            NotInstalled: if keys are given and a library to verify with is not installed.
        """
        file = Path(target)
        await handled(self.client).download_bundle(self.id, file, public_keys=public_keys)
        return file

    async def order_report(
        self,
        *,
        epsilon: float,
        delta: float | None = None,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        grant_id: str | None = None,
    ) -> AsyncReportJob:
        """Order a utility report (analyst): how far the release is from its dataset, for a small epsilon of its own.

        Args:
            epsilon: of the report; the client's `quote_charged_report` states its cost and precision in advance.
            delta: of the report; by default the service's.
            target: the column that a classifier, trained on synthetic records, predicts; by default the domain's target.
            columns: columns to measure; by default all. Fewer are measured more precisely.
            grant_id: the grant that pays; by default the only open one in which the order fits.
        """
        return await handled(self.client).order_charged_report(
            self.id, epsilon=epsilon, delta=delta, target=target, columns=columns, grant_id=grant_id
        )

    async def owner_report(self, target_file: Path | str, *, target: str | None = None) -> Path:
        """Have the release compared with the real rows and write the report (owner); NOT differentially private.

        Args:
            target_file: the HTML file; only this user can read it.
            target: the column to predict from the others; by default the domain's target, else the last of those with the fewest declared values.

        Raises:
            ReportNotMade: if it could not be made.
        """
        file: Path = await handled(self.client).reports.make(self.id, target_file, target=target)
        return file


def bound(result: Result, client: object) -> Result:
    """Bind jobs and releases in a result to the client that returned it.

    Args:
        result: any result of a call.
        client: an `AsyncClient`; a session is only ever the base of one.
    """
    if isinstance(result, (AsyncJob, AsyncReportJob, AsyncRelease)):
        return cast("Result", replace(result, client=cast("AsyncGiver", client)))
    if isinstance(result, tuple):
        return cast("Result", tuple(bound(each, client) for each in result))
    return result
