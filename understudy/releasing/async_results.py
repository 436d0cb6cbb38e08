"""Releases that an asynchronous client gives: the same facts, and methods to await."""

from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from understudy.asking import Answer
from understudy.documents import Json, facts
from understudy.releasing.results import Release
from understudy.rules import RulesCheck

if TYPE_CHECKING:
    from understudy.charged.results import ReportJob


class AsyncOffering(Protocol):
    """What a release asks of the client that gave it; see `understudy.releasing.results.Offering`."""

    async def sample_release(
        self, release_id: str, *, rows: int, form: str = "pandas", where: Json | None = None
    ) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic records into memory."""

    async def download_bundle(
        self, release_id: str, target: Path, *, public_keys: Collection[bytes] | None = None
    ) -> None:
        """Write the generator bundle to a file."""

    async def read_certificate(self, release_id: str) -> Json:
        """Give a release's certificate."""

    async def ask_counts(self, release_id: str, question: str) -> Answer:
        """Answer a question from a release's noisy counts."""

    async def check_rules(self, release_id: str) -> RulesCheck:
        """Hold the declared rules against a release's noisy counts."""

    reports: Any
    """Sealed reports, for owners; see `understudy.sealed_reporting`."""

    async def order_charged_report(
        self,
        release_id: str,
        *,
        epsilon: float,
        delta: float | None = None,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        grant_id: str | None = None,
    ) -> "ReportJob":
        """Order a charged report about a release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncRelease(Release):
    """A `Release` whose parts are awaited."""

    client: AsyncOffering  # type: ignore[assignment]  # the twin of the base's

    @classmethod
    def of(cls, release: Release, client: AsyncOffering) -> Self:
        """The release, as a client gives it."""
        return cls(**facts(release), client=client)

    @property
    def certificate(self) -> Awaitable[Json]:  # type: ignore[override]  # awaited
        """What was spent, by which mechanism: `await release.certificate`."""
        return self.client.read_certificate(self.id)

    async def sample(self, rows: int, *, form: str = "pandas", where: Json | None = None) -> Any:  # noqa: ANN401 - see `understudy.tables`
        """Draw synthetic rows or images into memory; see `Release.sample`."""
        return await self.client.sample_release(self.id, rows=rows, form=form, where=where)

    async def ask(self, question: str) -> Answer:  # type: ignore[override]  # awaited
        """Answer a question from the noisy counts; see `Release.ask`."""
        return await self.client.ask_counts(self.id, question)

    async def check_rules(self) -> RulesCheck:  # type: ignore[override]  # awaited
        """Hold the declared rules against the noisy counts; see `Release.check_rules`."""
        return await self.client.check_rules(self.id)

    async def save(self, target: Path | str, *, public_keys: Collection[bytes] | None = None) -> Path:  # type: ignore[override]  # awaited
        """Write the generator bundle to a file; see `Release.save`."""
        file = Path(target)
        await self.client.download_bundle(self.id, file, public_keys=public_keys)
        return file

    async def order_report(  # type: ignore[override]  # awaited
        self,
        *,
        epsilon: float,
        delta: float | None = None,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        grant_id: str | None = None,
    ) -> "ReportJob":
        """Order a charged report; see `Release.order_report`. Await the client's `wait_for_charged_report` of its id."""
        return await self.client.order_charged_report(
            self.id, epsilon=epsilon, delta=delta, target=target, columns=columns, grant_id=grant_id
        )

    async def sealed_report(self, target_file: Path | str, *, target: str | None = None) -> Path:  # type: ignore[override]  # awaited
        """Have the release compared with the real rows and write the report; see `Release.sealed_report`."""
        file: Path = await self.client.reports.make(self.id, target_file, target=target)
        return file
