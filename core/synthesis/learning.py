"""Learning a table's domain from its rows: how much of the budget it has, and what it releases. Public rules alone.

Bounds, bins and categories that a domain leaves to be learnt are learnt before anything else of a job, each by one
Gaussian release of counts. Together they have `share_of` of the squared mu, in equal parts. Names of categories come from
the rows, so they are published only above a threshold, and the threshold has `DELTA_SHARE` of delta. The rest of the job
is planned with what is left of both.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from scipy.special import ndtri

from core.domain.columns import Learnt, NumericColumn
from core.domain.table import TableDomain
from core.privacy.calibration import gaussian_noise_multiplier
from core.privacy.guarantee import PrivacyGuarantee
from core.privacy.mechanism import Gaussian, Threshold

FIRST_SHARE: Final = 0.02
"""Share of squared mu of a single release that learns."""
NEXT_SHARE: Final = 0.005
"""What each further one adds."""
LARGEST_SHARE: Final = 0.05
"""What all have together at most."""
DELTA_SHARE: Final = 0.125
"""Share of delta that thresholds have, where there are any. A power of two: nothing is rounded."""
DECIMALS_WEIGHT: Final = 1.0
"""Weight of the counts of decimals beside those of values."""
LEVELS: Final = 4
"""Levels of the tree of counts that bins are learnt from: eight children each, so leaves are 512 times finer than its top."""
RECORDS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)
"""How many records of a unit may be learnt to count."""
_ROUNDED: Final = 1e-9
GRID: Final = 2.0**-20
"""Public grid of noisy counts, in units."""


def share_of(count: int) -> float:
    """Return the share of squared mu that so many releases have together; none for none."""
    return min(LARGEST_SHARE, FIRST_SHARE + NEXT_SHARE * (count - 1)) if count else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRelease:
    """One release that learns.

    Attributes:
        column: place of the column among the modelled ones; None for the records of a unit that count.
        learns: what of it.
        sensitivity: L2, in counts, under adding or removing one unit.
    """

    column: int | None
    learns: Learnt
    sensitivity: float

    def to_json(self) -> dict[str, Any]:
        """Return the release as a JSON object."""
        return {"column": self.column, "learns": self.learns, "sensitivity": self.sensitivity}


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPlan:
    """Everything that is released to learn a domain, before anything else.

    Attributes:
        noise_multiplier: of every release; its noise has this times its sensitivity as standard deviation.
        delta: of all thresholds together; 0 where no categories are learnt.
        releases: in the order in which they are made.
    """

    noise_multiplier: float
    delta: float
    releases: tuple[LearningRelease, ...]

    @property
    def parts(self) -> tuple[Gaussian | Threshold, ...]:
        """The mechanism of every release, then that of the thresholds."""
        noises = tuple(Gaussian(noise_multiplier=self.noise_multiplier) for _ in self.releases)
        return (*noises, Threshold(delta=self.delta)) if self.delta else noises

    @property
    def threshold(self) -> float:
        """Noisy count that a category must exceed, in units; see docs/mechanisms/learning.md.

        Of the k lists of categories each has q = 1 - exp(-delta / k): the probability that the noise lifts the count of a
        name which one unit alone has, so at most 1, above it.
        """
        lists = sum(release.learns == "categories" for release in self.releases)
        probability = -math.expm1(-self.delta / lists)
        # Noisy counts are rounded to the grid, which lifts them by half a step at most.
        return 1.0 - self.noise_multiplier * float(ndtri(probability)) * (1 + _ROUNDED) + _ROUNDED + GRID

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        return {
            "noise_multiplier": self.noise_multiplier,
            "delta": self.delta,
            "releases": [release.to_json() for release in self.releases],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: it is not of this form.
        """
        return cls(
            noise_multiplier=float(document["noise_multiplier"]),
            delta=float(document["delta"]),
            releases=tuple(LearningRelease(**release) for release in document["releases"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningQuestion:
    """What learning depends on: what is released of which column with which sensitivity. Nothing where nothing is learnt."""

    releases: tuple[LearningRelease, ...] = ()

    @property
    def share(self) -> float:
        """Of squared mu, all together."""
        return share_of(len(self.releases))

    @property
    def rest(self) -> float:
        """The share of squared mu that is left; exactly 1 where nothing is learnt."""
        return 1.0 - self.share

    def delta(self, guarantee: PrivacyGuarantee) -> float:
        """Return what thresholds take of a guarantee's delta."""
        thresholds = any(release.learns == "categories" for release in self.releases)
        return guarantee.delta * DELTA_SHARE if thresholds else 0.0

    def left_of(self, guarantee: PrivacyGuarantee) -> PrivacyGuarantee:
        """Return the guarantee that all noise has to keep: with the delta that thresholds leave.

        Raises:
            InvalidGuarantee: they leave too little.
        """
        delta = self.delta(guarantee)
        if not delta:
            return guarantee
        return PrivacyGuarantee(epsilon=guarantee.epsilon, delta=guarantee.delta - delta)

    def plan(self, guarantee: PrivacyGuarantee) -> LearningPlan | None:
        """Return the plan under a guarantee; None where nothing is learnt."""
        if not self.releases:
            return None
        return LearningPlan(
            noise_multiplier=gaussian_noise_multiplier(
                self.left_of(guarantee), share=self.share / len(self.releases)
            ),
            delta=self.delta(guarantee),
            releases=self.releases,
        )


NOTHING_LEARNT: Final = LearningQuestion()
"""Of every domain that is declared."""


def learning_of(domain: object) -> LearningQuestion:
    """Return what is learnt of a domain: of a table that says so, and of nothing else."""
    if not isinstance(domain, TableDomain):
        return NOTHING_LEARNT
    return LearningQuestion(
        releases=tuple(
            LearningRelease(column=place, learns=what, sensitivity=_sensitivity(domain, place, what))
            for place, what in domain.learnt
        )
    )


def learns_records(domain: object) -> bool:
    """Return whether it is learnt how many records of a unit count."""
    return any(release.learns == "records" for release in learning_of(domain).releases)


def counts_decimals(domain: TableDomain, place: int) -> bool:
    """Return whether the decimals of a column are learnt with its bins: of reals that declare none."""
    column = domain.modelled[place]
    return isinstance(column, NumericColumn) and not column.integer and column.decimals is None


def _sensitivity(domain: TableDomain, place: int | None, what: Learnt) -> float:
    """Return the L2 sensitivity of one release: a unit adds at most 1 to each level of a tree, and to one list of counts."""
    if what != "bins" or place is None:
        return 1.0
    squares = LEVELS + (DECIMALS_WEIGHT**2 if counts_decimals(domain, place) else 0.0)
    return math.sqrt(squares) * (1 + 1e-12)
