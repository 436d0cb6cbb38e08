"""The plan of a utility report: a noisy measurement, for analysts, of how far a release is from its dataset.

All terms are sums over units of numbers in [-1, 1], so adding or removing a unit moves each by at most one record:

    column  twice the total variation distance of a column's distribution from the release's, times the declared size
    pair    the same for a pair of columns, over public bins
    score   records that a classifier trained on synthetic records gets right, minus those that it gets wrong

One Gaussian mechanism releases them together. Public shares of the three kinds divide its squared sensitivity, in units of
the noise (docs/mechanisms/utility-report.md).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field, PlainSerializer

from core.dp import mechanism as mechanisms
from core.dp.accountant import Epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.calibration import round_up
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian, Mechanism
from core.plan.errors import InvalidPlan
from core.plan.mechanism_forms import ReportMechanismForm
from core.plan.plan_document import ADJACENCY, VERSION, PlanDocument
from core.values import Count, Digest, Identifier, Name, Positive, Published, derived

KIND: Final = "report"
SHARES: Final[Mapping[str, int]] = {"columns": 1, "pairs": 2, "score": 1}
"""Shares of the squared sensitivity, by kind of term; a kind without terms leaves its share to the others."""
PAIR_BINS: Final = 8
"""Bins of a column in a pair: with many small cells the plug-in error would measure chance more than the
release."""
SYNTHETIC_ROWS: Final = 20_000
"""Maximum number of records drawn from the release, with a public seed; one half trains the classifier."""
FEWEST_ROWS: Final = 2
"""One for training and one for testing."""
MOST_COLUMNS: Final = 64
LARGEST_SIZE: Final = 2**31
"""Maximum number of declared units; up to it all sums are exact in float64."""
DEVIATIONS_95: Final = 1.96
"""Half-width of a 95 % interval, in standard deviations of the noise."""
_DIGEST_DIGITS: Final = 64


class UnitColumn(BaseModel):
    """The column of the privacy unit; null if every record is its own unit."""

    column: Name | None


class NoiseStds(BaseModel):
    """Standard deviation of the noise on every term of a kind, in records; null for a kind without terms."""

    columns: Positive
    pairs: Positive | None
    score: Positive | None


def _every_kind(stds: Mapping[str, float]) -> dict[str, float | None]:
    return {kind: stds.get(kind) for kind in SHARES}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan(PlanDocument):
    """Plan of one utility report; used in place of a `Plan`.

    Raises:
        InvalidPlan: there is nothing to measure, or epsilon exceeds the guarantee.
    """

    IDENTITY: ClassVar = {"version": VERSION, "kind": KIND}
    synthesizer: ClassVar[str] = KIND

    version: Literal[1] = field(default=VERSION, repr=False, compare=False)
    kind: Literal["report"] = field(default=KIND, repr=False, compare=False)
    guarantee: PrivacyGuarantee
    adjacency: Annotated[Adjacency, ADJACENCY]
    privacy_unit: Annotated[PrivacyUnit, Published(UnitColumn)]
    declared_size: Annotated[int, Published(Annotated[int, Field(ge=1, le=LARGEST_SIZE)])]
    release_id: Annotated[UUID, Published(Identifier)]
    """The release to compare with its dataset."""
    manifest_sha256: Digest
    """SHA-256 of the release's manifest, which lists the digests of the generator and of the domain; in
    hexadecimal."""
    columns: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_COLUMNS)]
    """Names of the measured columns, in the order of `core.plan.utility_reports.columns`."""
    target: Name | None
    """The column that the classifier predicts from all others, or the label from the image; None omits the
    score."""
    pair_bins: Literal[8] = field(default=PAIR_BINS, repr=False, compare=False)
    synthetic_rows: Count
    steps: Literal[0] = field(default=0, repr=False, compare=False)
    """No training steps: everything is measured at once."""
    noise_multiplier: Annotated[float, Published(Positive)]
    epsilons: Epsilons

    def __post_init__(self) -> None:
        if not (1 <= len(set(self.columns)) == len(self.columns) <= MOST_COLUMNS):
            raise InvalidPlan("a report measures distinct columns, and not too many")
        if not (
            1 <= self.declared_size <= LARGEST_SIZE and FEWEST_ROWS <= self.synthetic_rows <= SYNTHETIC_ROWS
        ):
            raise InvalidPlan("the report's declared size or number of synthetic rows is out of range")
        if len(self.manifest_sha256) != _DIGEST_DIGITS:
            raise InvalidPlan("the report names no generator")
        if self.epsilons.reported > self.guarantee.epsilon:
            raise InvalidPlan("the report's epsilon exceeds its guarantee")

    @property
    def terms(self) -> dict[str, int]:
        """Number of released terms of each kind; kinds without terms are omitted."""
        count = len(self.columns)
        counts = {
            "columns": count,
            "pairs": count * (count - 1) // 2,
            "score": 0 if self.target is None else 1,
        }
        return {kind: terms for kind, terms in counts.items() if terms}

    @derived
    def noise_stds(self) -> Annotated[dict[str, float], PlainSerializer(_every_kind), Published(NoiseStds)]:
        """Standard deviation of the noise on every number of a kind, in records, rounded up.

        With z the noise multiplier, m the terms of a kind and p its part of the shares, z sqrt(m / p): one unit moves
        each term by 1 at most, so all of them by sqrt(sum of m / std^2) <= 1 / z in units of the noise.
        """
        counts = self.terms
        whole = sum(SHARES[kind] for kind in counts)
        return {
            kind: round_up(self.noise_multiplier * math.sqrt(terms * whole / SHARES[kind]))
            for kind, terms in counts.items()
        }

    @property
    def share_stds(self) -> dict[str, float]:
        """Standard deviation of the noise on every share of a kind: all terms are divided by twice the declared size."""
        return {kind: std / (2 * self.declared_size) for kind, std in self.noise_stds.items()}

    @derived
    def mechanism(
        self,
    ) -> Annotated[Mechanism, PlainSerializer(mechanisms.to_json), Published(ReportMechanismForm)]:
        """The mechanism of the whole job: one Gaussian."""
        return Gaussian(noise_multiplier=self.noise_multiplier)

    def executed(self, step_count: int | None) -> Mechanism:
        """Return the mechanism executed by a job that has begun: all of it.

        Raises:
            InvalidPlan: there are no steps, so none can have been executed.
        """
        if step_count not in {None, 0}:
            raise InvalidPlan("a report has no steps that could have been executed")
        return self.mechanism
