"""The public side of a utility report: everything that a dataset is compared with, computed from the release alone.

Records are drawn from the released generator with a fixed public seed, so anybody who has the release can compute the
same numbers. The classifier learns from one half of them. Nothing here depends on a private record except through the
release.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from core.artifacts.bundle import Bundle
from core.plan.domain.codec import Codes
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.utility_reports.columns import cardinalities, measurable
from core.plan.utility_reports.plan import PAIR_BINS, ReportPlan
from models.reports.records import Records

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesClassifier

SEED: Final = 0
"""Public seed of the synthetic records and of the classifier."""
TREES: Final = 50
_DRAWN_AT_ONCE: Final = 500
FEWEST_IN_LEAF: Final = 5

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicSide:
    """The release's records and what follows from them.

    Args:
        drawn: of the release.
        cardinalities: codes of every column that can be measured.
        measured: indices of the measured columns.
        target: index of the predicted column; None without a score.
        domain: of the release, with what was learnt of the dataset's; None where it is the dataset's.
    """

    drawn: Records
    cardinalities: tuple[int, ...]
    measured: tuple[int, ...]
    target: int | None
    domain: Domain | None = None

    @property
    def codes(self) -> Codes:
        """(rows, columns) of the synthetic records."""
        return self.drawn.codes

    @property
    def rows(self) -> int:
        """Number of synthetic records."""
        return len(self.drawn)

    @cached_property
    def marginals(self) -> tuple[Counts, ...]:
        """Synthetic counts of every measured column's codes."""
        return tuple(
            np.bincount(self.codes[:, column], minlength=self.cardinalities[column])
            for column in self.measured
        )

    @cached_property
    def bins(self) -> tuple[Counts, ...]:
        """The bin of every code of every measured column, for pairs."""
        return tuple(pair_bins(counts) for counts in self.marginals)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of measured columns, as positions among them."""
        return tuple(itertools.combinations(range(len(self.measured)), 2))

    def binned(self, codes: Codes) -> tuple[Counts, ...]:
        """The bin of every row in every measured column."""
        return tuple(bins[codes[:, column]] for column, bins in zip(self.measured, self.bins, strict=True))

    def pair_counts(self, first: int, second: int) -> Counts:
        """Synthetic counts of a pair's cells; (bins of the first times bins of the second,)."""
        one, other = self._binned_rows[first], self._binned_rows[second]
        width = int(self.bins[second].max()) + 1
        return np.bincount(one * width + other, minlength=(int(self.bins[first].max()) + 1) * width)

    @cached_property
    def _binned_rows(self) -> tuple[Counts, ...]:
        return self.binned(self.codes)

    @cached_property
    def classifier(self) -> "ExtraTreesClassifier":
        """Trees that predict the target from all other columns, or from the picture, learnt from the first half of the synthetic records.

        What it predicts for a record depends on that record alone.
        """
        # Imported here because it takes a second, and trainings do not need it.
        from sklearn.ensemble import ExtraTreesClassifier

        assert self.target is not None, "a score has a target"
        # One thread: several would add up the trees' votes in any order, and the last bit may decide a tie.
        trees = ExtraTreesClassifier(
            n_estimators=TREES, min_samples_leaf=FEWEST_IN_LEAF, random_state=SEED, n_jobs=1
        )
        half = self.drawn.part(0, self.rows // 2)
        return trees.fit(self._features(half), half.codes[:, self.target])

    def _features(self, records: Records) -> npt.NDArray[np.float32]:
        assert self.target is not None, "a score has a target"
        derived = (
            self.domain.derived_from(self.target) if isinstance(self.domain, TableDomain) else [self.target]
        )
        return records.features(without=derived)

    def right(self, records: Records) -> npt.NDArray[np.bool_]:
        """Whether the classifier predicts the target of each record; (records,)."""
        target = self.target
        assert target is not None, "a score has a target"
        # Without records there is no part: the library refuses to predict for none.
        found = [
            self.classifier.predict(self._features(part)) == part.codes[:, target] for part in records.parts()
        ]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *found])

    def references(self, declared_size: int) -> Mapping[str, list[float]]:
        """Reference values for the noisy numbers, in their order; public and free.

        For columns and pairs: the distance that a perfect release would show on average, by chance alone, as both sides are
        samples. For the score: the share of right predictions on the second half of the synthetic rows, and the share of
        their most frequent class.
        """
        found = {
            "columns": [self._by_chance(counts, declared_size) for counts in self.marginals],
            "pairs": [self._by_chance(self.pair_counts(*pair), declared_size) for pair in self.pairs],
        }
        if self.target is not None:
            second = self.drawn.part(self.rows // 2, self.rows)
            frequent = int(np.bincount(second.codes[:, self.target]).max())
            found["score"] = [float(self.right(second).mean()), frequent / len(second)]
        return found

    def _by_chance(self, counts: Counts, declared_size: int) -> float:
        """Mean total variation distance of two samples of one distribution, by the normal approximation of each cell."""
        shares = [int(count) / self.rows for count in counts]
        variance = 1 / declared_size + 1 / self.rows
        spread = math.fsum(math.sqrt(share * (1 - share)) for share in shares)
        return min(1.0, spread * math.sqrt(variance / (2 * math.pi)))


def public_side(bundle: Bundle, plan: ReportPlan) -> PublicSide:
    """Draw the release's records; the same for the same release.

    Raises:
        BundleInvalid: it holds no generator of such records.
    """
    domain = domain_from_json(bundle.domain)
    names = measurable(domain)
    return PublicSide(
        drawn=_drawn(bundle, domain, plan.synthetic_rows),
        cardinalities=cardinalities(domain),
        measured=tuple(names.index(name) for name in plan.columns),
        target=None if plan.target is None else names.index(plan.target),
        domain=domain,
    )


def _drawn(bundle: Bundle, domain: TableDomain | ImageDomain, rows: int) -> Records:
    # They import the ONNX runtime, which trainings do not need.
    from core.artifacts.sampling.image_sampler import ImageSampler
    from core.artifacts.sampling.sampler import Sampler

    rng = np.random.Generator(np.random.PCG64(SEED))
    if isinstance(domain, TableDomain):
        return Records(codes=Sampler(bundle).codes(rows, rng))
    sampler = ImageSampler(bundle)
    labels = sampler.draw_labels(rows, rng)
    pieces = np.split(labels, range(_DRAWN_AT_ONCE, rows, _DRAWN_AT_ONCE))
    return Records.joined(
        [Records.of_images(sampler.draw(piece, rng), piece, labelled=bool(domain.labels)) for piece in pieces]
    )


def pair_bins(counts: Counts) -> Counts:
    """The bin of every code: neighbouring codes together, in bins of about equal synthetic mass.

    Integers only, so the same everywhere.

    Args:
        counts: (codes,) synthetic counts of a column.

    Returns:
        (codes,) bins from 0 without gaps; of at most `PAIR_BINS` codes each has its own.
    """
    if len(counts) <= PAIR_BINS:
        return np.arange(len(counts))
    middles = 2 * np.cumsum(counts) - counts
    bins = np.minimum(PAIR_BINS * middles // (2 * max(1, int(counts.sum()))), PAIR_BINS - 1)
    return np.unique(bins, return_inverse=True)[1].astype(np.int64)
