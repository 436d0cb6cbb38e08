"""A linear predictor of a table's target from its released counts. Post-processing, free of privacy cost.

The logistic loss of one class c against the others, expanded to second order at zero, is a sum over records of

    log 2 + (1/2 - y_c) h.w_c + (h.w_c)^2 / 8

so its minimiser needs only sum y_c h and sum h h^T: the functional mechanism (Zhang, Zhang, Xiao, Yang and Winslett 2012,
arXiv 1208.0219). With h the one-hot groups of all columns except the target, these sums are counts of pairs, which a release
already contains. The minimiser is w_c = 4 (sum h h^T)^-1 sum (y_c - 1/2) h, and 1/2 + h.w_c / 4 is a least-squares estimate of the share of
class c among records like h.

Noise moves the eigenvalues of the matrix by up to about its norm: `s sqrt(d)` for independent entries of standard deviation s in d
dimensions, up to a factor of two. Small eigenvalues are noise, and inverting them would amplify it, so `s sqrt(d)` is added to all.
The right-hand side, sum y_c h, is equally noisy: in d dimensions its noise has about the same norm, and the added term bounds its effect on the
class shares. So s covers the cells of all tables used, including those with the target. A pair without counts is assumed, as for questions: it is
made from counted tables and has no noise of its own. A small table counts only pairs with the target; its matrix is then all assumed, and
its noise is that of these pairs. `benchmarks.tables.linear_predictor` measures the result.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from core.artifacts.asking.assumed import assumed_table
from core.artifacts.asking.errors import NotCounted
from core.artifacts.asking.estimates import Estimates, Floats
from core.artifacts.asking.zeros import NO_ZEROS, Zeros
from core.plan.domain.table import TableDomain

MOST_FEATURES: Final = 2048
"""Maximum number of groups of all columns together; time grows with its cube."""
UNKNOWN: Final = -1
"""Stands for a code if the record has no accepted value."""
_LEAST: Final = 1e-6
"""Smallest probability of a class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearPredictor:
    """Probabilities of the classes of a table's target.

    Attributes:
        target: index of the target among the modelled columns.
        groups: by the index of each other column, (codes,) the group of each code.
        weights: by the index of each other column, (groups, classes) a record's addition to the class shares, by its group.
        means: by the index of each other column, (classes,) the mean addition, used for records with an unknown value.
    """

    target: int
    groups: dict[int, npt.NDArray[np.int64]]
    weights: dict[int, Floats]
    means: dict[int, Floats]

    @classmethod
    def of(cls, domain: TableDomain, estimates: Estimates, zeros: Zeros = NO_ZEROS) -> Self:
        """Solve for the weights.

        Raises:
            NotCounted: the domain declares no target, the columns have too many groups, or pairs with the target were not counted.
        """
        target = domain.target_index
        if target is None:
            raise NotCounted(
                "the domain declares no target to predict", remedy="declare a target before the release"
            )
        derived = domain.derived_from(target)
        columns = [column for column in range(len(domain.cardinalities)) if column not in derived]
        sizes = [estimates.margin(column).size for column in columns]
        if sum(sizes) > MOST_FEATURES:
            raise NotCounted(
                f"the columns have more than {MOST_FEATURES} groups of values together",
                remedy="train a classifier on drawn rows",
            )
        if not any(estimates.are_counted((column, target)) for column in columns):
            raise NotCounted(
                "no column was counted together with the target", remedy="train a classifier on drawn rows"
            )
        ends = list(itertools.accumulate(sizes))
        places = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        moments, with_classes = _sums(estimates, columns, places, target, zeros)
        values, vectors = np.linalg.eigh(moments)
        added = _deviation(estimates, [*columns, target]) * math.sqrt(ends[-1]) + 1.0
        solved = vectors @ ((vectors.T @ with_classes) / (np.maximum(values, 0.0) + added)[:, None])
        weights = {column: solved[place] for column, place in zip(columns, places, strict=True)}
        return cls(
            target=target,
            groups={column: estimates.groups((column, target))[column] for column in columns},
            weights=weights,
            means={column: _mean(estimates.margin(column), weights[column]) for column in columns},
        )

    def probabilities(self, codes: npt.NDArray[np.integer]) -> Floats:
        """Return (records, classes) probabilities.

        Args:
            codes: (records, columns) codes of all modelled columns, or `UNKNOWN`; the target's code is not read.
        """
        shares = np.zeros((len(codes), next(iter(self.means.values())).size))
        for column, weights in self.weights.items():
            own = codes[:, column]
            # For an unknown code the group of code 0 is looked up but not used.
            added = weights[self.groups[column][np.maximum(own, 0)]]
            shares += np.where((own == UNKNOWN)[:, None], self.means[column], added)
        kept: Floats = np.maximum(shares, _LEAST)
        made: Floats = kept / kept.sum(axis=1, keepdims=True)
        return made


def _mean(counts: Floats, weights: Floats) -> Floats:
    """The mean over records of (groups, classes) weights, (classes,)."""
    kept = np.maximum(counts, 0.0)
    mean: Floats = kept @ weights / max(float(kept.sum()), 1.0)
    return mean


def _sums(
    estimates: Estimates, columns: Sequence[int], places: Sequence[slice], target: int, zeros: Zeros
) -> tuple[Floats, Floats]:
    """The sums over records of h h^T, (groups, groups), and of y h, (groups, classes)."""
    size = places[-1].stop
    moments, with_classes = np.zeros((size, size)), np.zeros((size, estimates.margin(target).size))
    for column, place in zip(columns, places, strict=True):
        moments[place, place] = np.diag(np.maximum(estimates.margin(column), 0.0))
        with_classes[place] = assumed_table(estimates, (column, target), target=target, zeros=zeros)
    for (first, one), (second, other) in itertools.combinations(zip(columns, places, strict=True), 2):
        table = assumed_table(estimates, (first, second), target=target, zeros=zeros)
        moments[one, other], moments[other, one] = table, table.T
    return moments, with_classes


def _deviation(estimates: Estimates, columns: Sequence[int]) -> float:
    """The typical standard deviation of a cell of the counted pairs of some columns, in records."""
    variances = []  # never empty, because some pair with the target was counted
    for pair in itertools.combinations(columns, 2):
        if estimates.are_counted(pair):
            one_cell = np.zeros([estimates.margin(column).size for column in pair])
            one_cell[0, 0] = 1.0
            variances.append(estimates.variance(pair, one_cell))
    return math.sqrt(float(np.mean(variances)))
