"""The expected error of counts of "aim" and "mst", from public facts only and before any budget is spent.

Which marginals are measured is chosen under noise, so it is not known in advance. How many, and their noise, is. As in
`core.plan.expected_error` an error is a total variation distance, and typical distributions and dependence are assumed. Its sources:

*Noise of columns*, `t`: that of a typical distribution under the noise of the one-way counts, less what the sums of the marginals that a
column is typically in add by inverse variance. In pairs `A = 1 - (1 - t_1)(1 - t_2)`.

*Noise of marginals*, `N`: the error `e` of a typical pair of independent columns whose noisy cells are projected onto the simplex, since a
graphical model believes what was measured. Of all pairs the model takes it into the part `SPREAD` times the marginals of all rounds over the
number of pairs, at most all: the noise of a tree's edge is in every pair whose path it lies on.

*Dependence that the model does not have*, `L = LEFT D`, with `D` as there. The scores find the strongest pairs, and the model implies others.

*Drawing rows*, `q`.

    one-way     sqrt(t^2 + (q / 2)^2)        about half of the columns are drawn by the network, unbalanced
    two-way     sqrt(A^2 + N^2 + L^2 + q^2)
    three-way   sqrt(A^2 + (R_12 + R_13 + R_23)^2 + q^2), with R^2 = N^2 + L^2

`SPREAD` and `LEFT` are typical of public tables (docs/rules-study.md compares predictions with measurements).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from core.plan.expected_error import (
    DEPENDENCE,
    CountError,
    ExpectedError,
    Floats,
    Measured,
    ReleasedError,
    all_triples,
    evenly_spaced,
    mean_noise,
    one_way_error,
    projected_error,
    rounded,
    sampling_error,
    typical_distribution,
)
from core.plan.graphical import LARGEST_MARGINAL, Engine, MarginalsPlan

SPREAD: Final[Mapping[Engine, float]] = {"mst": 2.0, "aim": 1.0}
"""Pairs whose counts typically have the noise of a measured marginal."""
LEFT: Final[Mapping[Engine, float]] = {"mst": 0.4, "aim": 0.3}
"""Fraction of the dependence of pairs that the model typically lacks."""
PARTLY_BALANCED: Final = 0.5
"""Fraction of a column's sampling error that drawing leaves."""

_BINS = 64
"""Different shares of a typical pair of columns, approximately."""


def expected_marginals_error(
    anchor: MarginalsPlan,
    *,
    engine: Engine,
    cardinalities: tuple[int, ...],
    target_index: int | None,
    declared_size: int,
) -> ExpectedError:
    """Return what a graphical model measures at most and its expected error; see the module.

    Args:
        cardinalities: codes of every column.
        declared_size: declared number of units, each assumed to have one record.
    """
    counting = _Counting(anchor, engine, cardinalities, declared_size)
    typical = counting.error(LEFT[engine] * DEPENDENCE)
    features = [codes for place, codes in enumerate(cardinalities) if place != target_index]
    return ExpectedError(
        one_way=typical.one_way,
        two_way=typical.two_way,
        three_way=typical.three_way,
        if_independent=counting.error(0.0),
        released_counts=ReleasedError(
            one_way=rounded(mean_noise(counting.every * counting.column_std)),
            two_way=rounded(mean_noise(counting.cells * counting.marginal_std)) if anchor.rounds else None,
        ),
        measured=Measured(
            columns=len(cardinalities),
            tables=counting.tables,
            screened=False,
            by_class=False,
            combinations=False,
            most_groups=max(features, default=1),
            adaptive=True,
        ),
    )


class _Counting:
    """Noise of every vector that a graphical model releases, as shares of the declared size, for all or a representative subset of the columns."""

    def __init__(
        self, anchor: MarginalsPlan, engine: Engine, cardinalities: Sequence[int], declared_size: int
    ) -> None:
        self.size, self.tables = declared_size, anchor.rounds * anchor.marginals_per_round
        self.every: Floats = np.array(cardinalities, dtype=np.float64)
        self.column_std = anchor.one_way_noise_multiplier * anchor.one_way_sensitivity / declared_size
        self.marginal_std = anchor.marginals_noise_multiplier * anchor.marginals_sensitivity / declared_size
        self.codes: Floats = self.every[evenly_spaced(self.every)]
        self.first, self.second = np.triu_indices(len(self.codes), 1)
        self.cells: Floats = self.codes[self.first] * self.codes[self.second]
        possible = math.comb(len(cardinalities), 2)
        measured = min(1.0, self.tables / max(possible, 1))
        self.one_way_errors = self._one_way_errors(measured)
        part = min(1.0, SPREAD[engine] * measured)
        self.noise: Floats = np.where(self.cells <= LARGEST_MARGINAL, part * self._pair_errors(), 0.0)

    def _one_way_errors(self, measured: float) -> Floats:
        """(columns,) errors of typical distributions.

        Args:
            measured: fraction of the pairs that are measured.
        """
        of_sums = 0.0
        if self.tables:
            others = (len(self.every) - 1) * float((1.0 / self.every).mean())
            of_sums = measured * others / self.marginal_std**2
        std = 1.0 / math.sqrt(self.column_std**-2 + of_sums)
        kinds, places = np.unique(self.codes, return_inverse=True)
        return np.array([one_way_error(int(codes), std) for codes in kinds.tolist()])[places]

    def _pair_errors(self) -> Floats:
        """(pairs,) errors of the noisy counts of typical pairs of independent columns."""
        if not self.tables:
            return np.zeros(len(self.first))
        sizes = np.sort(np.stack([self.codes[self.first], self.codes[self.second]]), axis=0)
        kinds, places = np.unique(sizes, axis=1, return_inverse=True)
        errors = [_pair_error(int(a), int(b), self.marginal_std) for a, b in kinds.T.tolist()]
        return np.array(errors)[places.reshape(-1)]

    def error(self, dependence: float) -> CountError:
        """The error of synthetic rows.

        Args:
            dependence: that the model lacks, per binary logarithm of the smaller number of codes of a pair.
        """
        first, second, columns = self.first, self.second, self.one_way_errors
        roots = np.array([np.sqrt(typical_distribution(int(codes))).sum() for codes in self.codes])
        one_way = np.hypot(columns, PARTLY_BALANCED * sampling_error(roots, self.size))
        lacked = dependence * np.log2(np.minimum(self.codes[first], self.codes[second]))
        missed = np.hypot(self.noise, lacked)
        drawn = sampling_error(roots[first] * roots[second], self.size)
        two_way = np.hypot(np.hypot(1.0 - (1.0 - columns[first]) * (1.0 - columns[second]), missed), drawn)
        matrix = np.zeros((len(columns), len(columns)))
        matrix[first, second] = matrix[second, first] = missed
        triples = all_triples(len(columns))
        of_triples = sum(matrix[triples[:, a], triples[:, b]] for a, b in ((0, 1), (0, 2), (1, 2)))
        three_way = np.hypot(
            np.hypot(1.0 - np.prod(1.0 - columns[triples], axis=1), of_triples),
            sampling_error(np.prod(roots[triples], axis=1), self.size),
        )
        return CountError.of(one_way, two_way, three_way)


def _pair_error(first: int, second: int, std: float) -> float:
    if first == 1:
        return 0.0
    shares = np.outer(typical_distribution(first), typical_distribution(second)).ravel()
    logs = np.log(shares)
    bins = np.minimum((logs - logs.min()) / np.ptp(logs) * _BINS, _BINS - 1).astype(np.intp)
    numbers = np.bincount(bins, minlength=_BINS).astype(np.float64)
    sums = np.bincount(bins, weights=shares, minlength=_BINS)
    some = numbers > 0
    free = (1.0 - 1.0 / first) * (1.0 - 1.0 / second)
    return projected_error(sums[some] / numbers[some], numbers[some], std * math.sqrt(free))
