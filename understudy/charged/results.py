"""Charged reports as frozen values, and the jobs that measure them."""

from dataclasses import dataclass, field
from typing import Protocol, Self

from understudy.documents import Json, take
from understudy.errors import InputUnusable
from understudy.jobs.results import POLL_SECONDS, Job


class Measuring(Protocol):
    """What a job that measures asks of the client that gave it."""

    def wait_for_charged_report(
        self, job_id: str, *, poll_seconds: float = POLL_SECONDS, progress: bool = False
    ) -> "ChargedReport":
        """Wait for a job's report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One noisy share between 0 and 1.

    Attributes:
        names: the column, the two columns of a pair, or the predicted column; empty for a mean.
        estimate: the best guess.
        low: with 95 % confidence the share is not below; the noise is the only reason for doubt that counts here.
        high: nor above.
        by_chance: of an error, what a perfect release would show on average; None of a score.
        document: the whole entry.
    """

    names: tuple[str, ...]
    estimate: float
    low: float
    high: float
    by_chance: float | None
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read an entry of a report."""
        estimate, low, high = take(document, "estimate", "low", "high")
        single = document.get("name", document.get("target"))
        names = tuple(document.get("names", () if single is None else (single,)))
        return cls(
            names=names,
            estimate=estimate,
            low=low,
            high=high,
            by_chance=document.get("by_chance"),
            document=document,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedReport:
    """How far a release is from its dataset: differentially private, so it may be shown to whoever may see the release.

    Attributes:
        id: its id.
        release_id: the release it is about.
        job_id: the job that measured it.
        epsilon: what it promises.
        delta: likewise.
        columns: error of every measured column, 0 best and 1 worst.
        pairs: error of every pair of them.
        mean_of_columns: mean of the columns' errors, more precise than any of them.
        mean_of_pairs: likewise; None where there is no pair.
        score: share of right predictions of a classifier that learnt from synthetic records; None where none was asked for.
        document: the signed report.
    """

    id: str
    release_id: str
    job_id: str
    epsilon: float
    delta: float
    columns: tuple[Measured, ...]
    pairs: tuple[Measured, ...]
    mean_of_columns: Measured
    mean_of_pairs: Measured | None
    score: Measured | None
    document: Json = field(repr=False)

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        report_id, release_id, job_id, results = take(
            document, "report_id", "release_id", "job_id", "results"
        )
        epsilon, delta = take(take(document, "privacy_parameters")[0], "epsilon", "delta")
        columns, pairs, mean, mean_of_pairs, score = take(
            results, "columns", "pairs", "mean_of_columns", "mean_of_pairs", "score"
        )
        return cls(
            id=report_id,
            release_id=release_id,
            job_id=job_id,
            epsilon=epsilon,
            delta=delta,
            columns=tuple(map(Measured.from_json, columns)),
            pairs=tuple(map(Measured.from_json, pairs)),
            mean_of_columns=Measured.from_json(mean),
            mean_of_pairs=None if mean_of_pairs is None else Measured.from_json(mean_of_pairs),
            score=None if score is None else Measured.from_json(score),
            document=document,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEntry:
    """A charged report in a list.

    Attributes:
        id: its id.
        release_id: the release it is about.
        epsilon: what it promises.
        delta: likewise.
        target: the column that was predicted, or None.
        document: the whole entry.
    """

    id: str
    release_id: str
    epsilon: float
    delta: float
    target: str | None
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the entry."""
        known = ("id", "release_id", "epsilon", "delta", "target")
        return cls(**dict(zip(known, take(document, *known), strict=True)), document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportJob(Job):
    """An ordered charged report: a job that publishes no release."""

    @property
    def report_id(self) -> str | None:
        """The report, once the job has succeeded."""
        report_id: str | None = take(self.document, "report_id")[0]
        return report_id

    def wait(self, *, poll_seconds: float = POLL_SECONDS, progress: bool = True) -> "ReportJob":  # type: ignore[override]  # it publishes no release
        """Wait until it has succeeded; `report()` then asks once more, for the report.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
        """
        self.report(poll_seconds=poll_seconds, progress=progress)
        return self

    def report(self, *, poll_seconds: float = POLL_SECONDS, progress: bool = False) -> ChargedReport:
        """Give the report; waits for it where it is not there yet.

        Raises:
            JobFailed: if it failed.
            JobCancelled: if it was cancelled.
            InputUnusable: it was read from a document, not given by a client.
        """
        if self.client is None:
            message = "this was read from a document; ask a client for it, then its report can be waited for"
            raise InputUnusable(message)
        measuring: Measuring = self.client  # type: ignore[assignment]  # every client can
        return measuring.wait_for_charged_report(self.id, poll_seconds=poll_seconds, progress=progress)
