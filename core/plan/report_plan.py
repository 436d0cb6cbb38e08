"""The plan of a utility report: a noisy measurement, for analysts, of how far a release is from its dataset.

All terms are sums over units of numbers in [-1, 1], so adding or removing a unit moves each by at most one record:

    column  twice the total variation distance of a column's distribution from the release's, times the
    declared size pair    the same for a pair of columns, over public bins
    score   records that a classifier trained on synthetic records gets right, minus those that it gets wrong

    One Gaussian mechanism releases them together. Public shares of the three kinds divide its squared
    sensitivity, in units of the noise (docs/mechanisms/charged-report.md).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self
from uuid import UUID

from core.canonical import canonical_digest
from core.dp import mechanism as mechanisms
from core.dp.accountant import Epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.calibration import round_up
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian, Mechanism
from core.plan.errors import InvalidPlan

VERSION: Final = 1
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
_DIGEST_DIGITS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan:
    """What one utility report will measure; used in place of a `Plan`.

    Raises:
        InvalidPlan: there is nothing to measure, or epsilon exceeds the guarantee.
    """

    synthesizer: ClassVar[str] = KIND
    steps: ClassVar[int] = 0
    """No training steps: everything is measured at once."""

    guarantee: PrivacyGuarantee
    adjacency: Adjacency
    privacy_unit: PrivacyUnit
    declared_size: int
    release_id: UUID
    """The release to compare with its dataset."""
    manifest_sha256: str
    """SHA-256 of the release's manifest, which lists the digests of the generator and of the domain; in
    hexadecimal."""
    columns: tuple[str, ...]
    """Names of the measured columns, in the order of `core.plan.report_columns`."""
    target: str | None
    """The column that the classifier predicts from all others, or the label from the image; None omits the
    score."""
    synthetic_rows: int
    noise_multiplier: float
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

    @property
    def noise_stds(self) -> dict[str, float]:
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
    def mechanism(self) -> Mechanism:
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

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object, with its mechanism for readers that do not know plans."""
        return {
            "version": VERSION,
            "kind": KIND,
            "guarantee": self.guarantee.to_json(),
            "adjacency": self.adjacency.value,
            "privacy_unit": self.privacy_unit.to_json(),
            "declared_size": self.declared_size,
            "release_id": str(self.release_id),
            "manifest_sha256": self.manifest_sha256,
            "columns": list(self.columns),
            "target": self.target,
            "pair_bins": PAIR_BINS,
            "synthetic_rows": self.synthetic_rows,
            "steps": self.steps,
            "noise_multiplier": self.noise_multiplier,
            "noise_stds": dict.fromkeys(SHARES) | self.noise_stds,
            "epsilons": self.epsilons.to_json(),
            "mechanism": mechanisms.to_json(self.mechanism),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InvalidPlan: the version is unknown, a member is missing or wrong, or a derived member does not
                follow from the plan's numbers.
            InvalidGuarantee, InvalidMechanism: a number is out of range.
        """
        if (document.get("version"), document.get("kind")) != (VERSION, KIND):
            raise InvalidPlan(
                "the plan's version is unknown", remedy="use the software version that wrote it"
            )
        try:
            target = document["target"]
            plan = cls(
                guarantee=PrivacyGuarantee.from_json(document["guarantee"]),
                adjacency=Adjacency(document["adjacency"]),
                privacy_unit=PrivacyUnit.from_json(document["privacy_unit"]),
                declared_size=int(document["declared_size"]),
                release_id=UUID(document["release_id"]),
                manifest_sha256=str(document["manifest_sha256"]),
                columns=tuple(str(name) for name in document["columns"]),
                target=None if target is None else str(target),
                synthetic_rows=int(document["synthetic_rows"]),
                noise_multiplier=float(document["noise_multiplier"]),
                epsilons=Epsilons.from_json(document["epsilons"]),
            )
            derived = plan.to_json()
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidPlan("a member of the plan is missing or of the wrong type") from None
        if derived != dict(document):
            raise InvalidPlan("the plan's mechanism does not follow from its numbers")
        return plan

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON, in hexadecimal."""
        return canonical_digest(self.to_json())
