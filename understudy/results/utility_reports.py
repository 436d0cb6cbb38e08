"""Utility reports, which the API calls charged reports, as frozen values; ``document`` is the whole answer."""

from dataclasses import dataclass, field
from typing import Self

from understudy.documents import Json, named, take


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One noisy share between 0 and 1.

    Attributes:
        names: the column, the two columns of a pair, or the predicted column; empty for a mean.
        low: lower end of the 95 % confidence interval, which covers the noise alone.
        high: upper end of it.
        by_chance: the error that a perfect release would show on average; None for a score.
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
        single = document.get("name", document.get("target"))
        names = tuple(document.get("names", () if single is None else (single,)))
        stated = named(document, "estimate", "low", "high")
        return cls(**stated, names=names, by_chance=document.get("by_chance"), document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityReport:
    """How far a release is from its dataset: differentially private, for everybody who may see the release.

    Attributes:
        release_id: the release it is about.
        job_id: the job that measured it.
        epsilon: of its guarantee.
        delta: of its guarantee.
        columns: error of every measured column, 0 best and 1 worst.
        pairs: error of every pair of them.
        mean_of_columns: mean of the columns' errors, more precise than any of them.
        mean_of_pairs: mean of the errors of pairs; None where there is no pair.
        score: accuracy of a classifier trained on synthetic records; None if none was ordered.
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
        (guarantee,) = take(document, "privacy_parameters")
        amounts = named(guarantee, "epsilon", "delta")
        columns, pairs, mean, mean_of_pairs, score = take(
            results, "columns", "pairs", "mean_of_columns", "mean_of_pairs", "score"
        )
        return cls(
            id=report_id,
            release_id=release_id,
            job_id=job_id,
            **amounts,
            columns=tuple(map(Measured.from_json, columns)),
            pairs=tuple(map(Measured.from_json, pairs)),
            mean_of_columns=Measured.from_json(mean),
            mean_of_pairs=None if mean_of_pairs is None else Measured.from_json(mean_of_pairs),
            score=None if score is None else Measured.from_json(score),
            document=document,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEntry:
    """A utility report in a list.

    Attributes:
        release_id: the release it is about.
        epsilon: of its guarantee.
        delta: of its guarantee.
        target: the column that was predicted, or None.
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
        return cls(**named(document, "id", "release_id", "epsilon", "delta", "target"), document=document)
