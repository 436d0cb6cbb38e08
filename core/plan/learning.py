"""Learning a table's domain from its rows: its share of the budget and its releases, by public rules only.

Undeclared bounds, bins and categories are learnt before anything else in a job, each by one Gaussian release
of counts. Together they get `share_of` of the squared mu, in equal parts. Names of categories come from the
rows, so they are published only above a threshold, which takes `DELTA_SHARE` of delta. The rest of the job is
planned with the remainder. docs/mechanisms/learning.md has the proof.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
from pydantic import Field
from scipy.special import ndtri

from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian, Threshold
from core.plan.crowding import CHECK_SENSITIVITY, check_share, checked_columns
from core.plan.domain.columns.common_keys import LEARN
from core.plan.domain.columns.kinds import Learnt, NumericColumn
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidPlan
from core.values import CountOrNone, OrAbsent, OrFalse, Positive

FIRST_SHARE: Final = 0.02
"""Share of squared mu of a single learning release."""
NEXT_SHARE: Final = 0.005
"""Additional share of each further release."""
LARGEST_SHARE: Final = 0.05
"""Maximum share of all together."""
DELTA_SHARE: Final = 0.125
"""Share of delta of the thresholds, if there are any. A power of two, which avoids rounding."""
DECIMALS_WEIGHT: Final = 1.0
"""Weight of the counts of decimals relative to those of values."""
LEVELS: Final = 4
"""Levels of the tree of counts that bins are learnt from: eight children each, so leaves are 512 times finer
than its top."""
RECORDS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)
"""Candidates for the number of records of a unit that count."""
NAMES: Final = 32
"""Largest number of names of a unit that count in a column, where a unit may have several records."""
_ROUNDED: Final = 1e-9
_GRID_BITS: Final = 20
GRID: Final = 2.0**-_GRID_BITS
"""Public grid of noisy counts, in units."""


_NOISE: Final = (0.0, 0.0038, 0.012, 0.038, 0.076, 0.1, 0.2)
"""Noise on a count over the declared size."""
_CLAMPED: Final = (0.0, 0.013, 0.091, 0.248, 0.551, 0.694, 0.886)
"""Mean share of a column's values that its learnt bounds clamp, at each (docs/rules-study.md, learnt bounds)."""


def share_of(count: int) -> float:
    """Return the share of squared mu of `count` releases together; 0 for none."""
    return min(LARGEST_SHARE, FIRST_SHARE + NEXT_SHARE * (count - 1)) if count else 0.0


def expected_clamped(noise_std: float, declared_size: int) -> float:
    """Return the share of a column's values that its learnt bounds typically clamp, from public facts alone.

    Args:
        noise_std: of the counts that the bounds are learnt from, in units.
        declared_size: units.
    """
    return float(np.interp(noise_std / max(declared_size, 1), _NOISE, _CLAMPED))


def name_weight(names: int) -> float:
    """Return what a unit adds to each of its names: the largest multiple of the grid whose square is at most 1 / names.

    Whole numbers throughout, so the squares of all its names together are at most 1 exactly.
    """
    return math.isqrt(4**_GRID_BITS // names) * GRID


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRelease:
    """One release that learns.

    Attributes:
        column: index of the column among the modelled ones; None for the number of records of a unit that count.
        learns: what is learnt.
        sensitivity: L2, in counts, under adding or removing one unit.
    """

    column: CountOrNone | None
    learns: Learnt
    sensitivity: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPlan:
    """All releases that learn a domain, before anything else.

    Attributes:
        noise_multiplier: of every release: standard deviation over sensitivity.
        delta: of all thresholds together; 0 if no categories are learnt.
        releases: in the order of execution.
        names_per_unit: how many names of a unit count in a list of categories. None where that is one, its first
            record's: where every record is its own unit, and in plans from before units counted by several.
        cut_tails: whether bins that a check finds are narrow at the inner ends of tails; false in plans from before that.

    Raises:
        InvalidPlan: several names count where no categories are learnt, tails are cut where nothing is checked, or declared bounds are checked
            beside something else.
    """

    noise_multiplier: Positive
    delta: Annotated[float, Field(ge=0, lt=1)]
    releases: Annotated[tuple[LearningRelease, ...], Field(min_length=1, max_length=64)]
    names_per_unit: OrAbsent[Annotated[int, Field(ge=2, le=1000)]] = None
    cut_tails: OrFalse = False

    def __post_init__(self) -> None:
        if self.checks and not self.only_checks:
            raise InvalidPlan("the plan checks declared bounds and learns parts of the domain as well")
        if self.names_per_unit is not None and not any(one.learns == "categories" for one in self.releases):
            raise InvalidPlan("the plan counts several names of a unit and learns no categories")
        if self.cut_tails and not self.checks:
            raise InvalidPlan("the plan cuts tails and checks no declared bounds")

    @property
    def parts(self) -> tuple[Gaussian | Threshold, ...]:
        """The mechanisms of all releases, then that of the thresholds."""
        noises = tuple(Gaussian(noise_multiplier=self.noise_multiplier) for _ in self.releases)
        return (*noises, Threshold(delta=self.delta)) if self.delta else noises

    @property
    def checks(self) -> tuple[int, ...]:
        """Indices of the columns whose declared bounds are checked."""
        return tuple(
            one.column for one in self.releases if one.learns == "crowded" and one.column is not None
        )

    @property
    def only_checks(self) -> bool:
        """Whether nothing is learnt but bins of columns whose declared bounds turn out far too wide."""
        return len(self.checks) == len(self.releases)

    @property
    def words_of(self) -> tuple[int, ...]:
        """Indices of the columns whose categories are learnt."""
        return tuple(
            release.column
            for release in self.releases
            if release.learns == "categories" and release.column is not None
        )

    @property
    def threshold(self) -> float:
        """Noisy count that a category must exceed, in units; see docs/mechanisms/learning.md.

        Each of the k lists of categories has q = 1 - exp(-delta / k): the probability that noise lifts any
        name that only one unit has above the threshold, whatever the number of these names is.
        """
        lists = sum(release.learns == "categories" for release in self.releases)
        return max(
            self._hides(names, self.delta / lists) for names in range(1, (self.names_per_unit or 1) + 1)
        )

    def _hides(self, names: int, delta: float) -> float:
        """The noisy count that, with probability exp(-delta) or more, none of so many names that only one unit has exceeds."""
        probability = -math.expm1(-delta / names)  # of each: the noises are independent
        # Rounding to the grid raises noisy counts by at most half a step.
        return (
            name_weight(names)
            - self.noise_multiplier * float(ndtri(probability)) * (1 + _ROUNDED)
            + _ROUNDED
            + GRID
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningQuestion:
    """The inputs of learning. Empty if nothing is learnt.

    Attributes:
        releases: by column, with sensitivities.
        names_per_unit: see `LearningPlan`.
        check_share: the share of squared mu of each release, if all are checks of declared bounds; else 0.
    """

    releases: tuple[LearningRelease, ...] = ()
    names_per_unit: int | None = None
    check_share: float = 0.0

    @property
    def share(self) -> float:
        """The share of squared mu of all releases."""
        return len(self.releases) * self.check_share if self.check_share else share_of(len(self.releases))

    @property
    def rest(self) -> float:
        """The remaining share of squared mu; exactly 1 if nothing is learnt."""
        return 1.0 - self.share

    @property
    def has_thresholds(self) -> bool:
        """Whether names of categories are published, which takes thresholds and so basic composition."""
        return any(release.learns == "categories" for release in self.releases)

    def delta(self, guarantee: PrivacyGuarantee) -> float:
        """Return the thresholds' part of a guarantee's delta."""
        return guarantee.delta * DELTA_SHARE if self.has_thresholds else 0.0

    def left_of(self, guarantee: PrivacyGuarantee) -> PrivacyGuarantee:
        """Return the guarantee for all noise, with the delta left by the thresholds.

        Raises:
            InvalidGuarantee: too little delta is left.
        """
        delta = self.delta(guarantee)
        if not delta:
            return guarantee
        return PrivacyGuarantee(epsilon=guarantee.epsilon, delta=guarantee.delta - delta)

    def plan(self, guarantee: PrivacyGuarantee) -> LearningPlan | None:
        """Return the plan under a guarantee; None if nothing is learnt."""
        if not self.releases:
            return None
        return LearningPlan(
            noise_multiplier=gaussian_noise_multiplier(
                self.left_of(guarantee), share=self.share / len(self.releases)
            ),
            delta=self.delta(guarantee),
            releases=self.releases,
            names_per_unit=self.names_per_unit,
            cut_tails=bool(self.check_share),
        )


NOTHING_LEARNT: Final = LearningQuestion()
"""For every fully declared domain."""


def learning_of(domain: object) -> LearningQuestion:
    """Return what is learnt of a domain; only tables can leave something to be learnt."""
    if not isinstance(domain, TableDomain):
        return NOTHING_LEARNT
    return LearningQuestion(
        releases=tuple(
            LearningRelease(column=place, learns=what, sensitivity=_sensitivity(domain, place, what))
            for place, what in domain.learnt
        ),
        names_per_unit=_names_per_unit(domain),
    )


def checks_of(domain: object, guarantee: PrivacyGuarantee, declared_size: int) -> LearningQuestion:
    """Return the checks of declared bounds; nothing where training learns parts of the domain already, or would see nothing."""
    columns = checked_columns(domain) if isinstance(domain, TableDomain) else ()
    share = check_share(len(columns), guarantee, declared_size)
    if not share:
        return NOTHING_LEARNT
    return LearningQuestion(
        releases=tuple(
            LearningRelease(column=place, learns="crowded", sensitivity=CHECK_SENSITIVITY)
            for place in columns
        ),
        check_share=share,
    )


def learns_categories(document: Mapping[str, Any]) -> bool:
    """Return whether a domain's document leaves categories to be learnt, as `LearningQuestion.has_thresholds` says of the domain."""
    return any(column.get("categories") == LEARN for column in document.get("columns", ()))


def learns_records(domain: object) -> bool:
    """Return whether the number of records of a unit that count is learnt."""
    return any(release.learns == "records" for release in learning_of(domain).releases)


def counts_decimals(domain: TableDomain, place: int) -> bool:
    """Return whether a column's decimals are learnt with its bins: for reals that declare none."""
    column = domain.modelled[place]
    return isinstance(column, NumericColumn) and not column.integer and column.decimals is None


def _names_per_unit(domain: TableDomain) -> int | None:
    """How many names of a unit count; None where it is one. A unit with a column may have any number of records."""
    categories = any(what == "categories" for _place, what in domain.learnt)
    return NAMES if categories and domain.privacy_unit is not None else None


def _sensitivity(domain: TableDomain, place: int | None, what: Learnt) -> float:
    """Return the L2 sensitivity of one release: a unit adds at most 1 to each level of a tree, and in L2 to one list of counts."""
    if what != "bins" or place is None:
        return 1.0
    squares = LEVELS + (DECIMALS_WEIGHT**2 if counts_decimals(domain, place) else 0.0)
    return math.sqrt(squares) * (1 + 1e-12)
