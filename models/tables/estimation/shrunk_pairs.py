"""Noisy shares of pairs of columns, shrunk. Post-processing of a release, free of charge.

The noise is known, so what it explains is taken off. The residual of a pair of columns is its noisy shares less the product of its
columns' shares. Each cell keeps the part of its residual that the noise does not explain (`models.tables.estimation.shrinkage`). Of two
ordered columns the residual is also taken from the nearest distribution of one odds ratio (`models.tables.estimation.association`), and both
estimates are mixed. Where other pairs imply that two columns depend on each other, it is taken from what they imply
(`models.tables.estimation.implied`). By class of the target the product is that of the columns' shares within each class, and two residuals are
shrunk: what all classes have in common, and what each has of its own.

Where declared rules leave cells empty (`models.tables.estimation.zeros`), the product becomes the quasi-independent distribution that has the same
margins on the other cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.simplex import SMALLEST_SHARE
from models.tables.anchor import MomentLayout
from models.tables.estimation.association import Places, distributions_of_one_ratio, nearest
from models.tables.estimation.implied import centred, implied_distributions, independent
from models.tables.estimation.shrinkage import kept
from models.tables.estimation.zeros import Pattern, Zeros

Floats = npt.NDArray[np.float64]
_SMALLEST_KEPT = 1e-3
_LEAST_GAIN = 4.0
"""How much nearer than independence a distribution must be to noisy shares, in variances of the noise: two standard deviations."""


def shrunk_pairs(
    pairs: Floats,
    ones: Floats,
    distribution: Floats,
    pair_std: Floats,
    layout: MomentLayout,
    zeros: Zeros | None = None,
    orders: Sequence[Places] = (),
) -> Floats:
    """Shrink the noisy shares of all pairs: towards independence within the slice, one odds ratio, and what other pairs imply.

    Args:
        orders: of every block of the layout, the places of its groups in order, none if they have no order. Empty if no column has one.
    """
    patterns = {} if zeros is None else zeros.pairs
    shrunk = np.zeros_like(pairs)
    associated: dict[tuple[int, int], float] = {}
    for i, block in enumerate(layout.blocks):
        for j, other in enumerate(layout.blocks[:i]):
            pair = _Pair(distribution, independent(ones, distribution, block, other), patterns.get((i, j)))
            expected = made = pair.independent
            if layout.counted[block.start, other.start]:
                noisy, variance = pairs[:, block, other], pair_std[block.start, other.start] ** 2
                estimate = pair.shrunk(expected, noisy, variance)
                if (
                    orders
                    and (tied := pair.tied(expected, noisy, variance, orders[i], orders[j])) is not None
                ):
                    estimate = pair.mixed(estimate, pair.shrunk(tied, noisy, variance), noisy)
                    associated[i, j] = estimate.followed
                made = estimate.shares
            _put(shrunk, block, other, made)
    for (i, j), implied in implied_distributions(pairs, shrunk, ones, distribution, pair_std, layout).items():
        if (i, j) in patterns:
            continue
        block, other = layout.blocks[i], layout.blocks[j]
        made = implied
        if layout.counted[block.start, other.start]:
            pair = _Pair(distribution, independent(ones, distribution, block, other), None)
            noisy = pairs[:, block, other]
            estimate = pair.shrunk(implied, noisy, pair_std[block.start, other.start] ** 2)
            if (i, j) in associated:
                before = _Estimate(shrunk[:, block, other], associated[i, j])
                estimate = pair.mixed(before, estimate, noisy)
            made = estimate.shares
        _put(shrunk, block, other, made)
    return shrunk


def _put(tables: Floats, block: slice, other: slice, made: Floats) -> None:
    tables[:, block, other] = made
    tables[:, other, block] = made.transpose(0, 2, 1)


class _Estimate(NamedTuple):
    """An estimate of a pair's shares.

    Args:
        shares: (slices, rows, columns).
        followed: how much of the noise is in it: its variance times the derivative of the estimate, summed over the cells.
    """

    shares: Floats
    followed: float


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Two columns, each slice by itself.

    Args:
        distribution: (slices,) shares of the slices.
        product: (slices, rows, columns) shares of columns that are independent within the slice; all estimates have their margins.
        pattern: which cells are possible; None if all are.
    """

    distribution: Floats
    product: Floats
    pattern: Pattern | None

    @property
    def independent(self) -> Floats:
        """Shares of columns that are independent, or quasi-independent where not all cells are possible."""
        return self._fitted(self.product)

    def tied(
        self, expected: Floats, noisy: Floats, variance: float, rows: Places, columns: Places
    ) -> Floats | None:
        """Return the shares of one odds ratio that are nearest to the noisy ones, or None if they are no nearer than independent ones.

        Args:
            expected: `independent`.
            variance: of the noise on a cell.
            rows: places of the rows in order, without those that have no place in it.
            columns: likewise.
        """
        distributions = map(self._fitted, distributions_of_one_ratio(self.product, rows, columns))
        found = nearest(distributions, expected, self._centred(noisy - expected))
        return found.distribution if found is not None and found.gain > _LEAST_GAIN * variance else None

    def shrunk(self, expected: Floats, noisy: Floats, variance: float) -> _Estimate:
        """Shrink noisy shares towards expected ones, which have the margins of the columns."""
        slices, part = len(self.distribution), self.distribution[:, None, None]
        residual = self._centred(noisy - expected)
        common = residual.sum(axis=0)
        own = residual - part * common
        # Of S slices with shares p, what one has of its own has 1 - 2 p + S p^2 times the variance of a slice: (S - 1) / S where all are
        # even, before centring, of which cells and slices may leave different parts.
        of_own = 1.0 - 2.0 * part + slices * part**2
        left = self._left
        whole = left.sum(axis=0)
        left_of_own = (left * (1.0 - 2.0 * part) + part**2 * whole) / np.maximum(of_own, SMALLEST_SHARE)
        of_common = kept(common, expected.sum(axis=0), variance=variance * slices, left=whole / slices)
        of_each = kept(own, expected, variance=variance * of_own, left=left_of_own)
        made = expected + self._centred(part * (common * of_common) + own * of_each)
        followed = variance * float((left * (part * of_common + (1.0 - part) * of_each)).sum())
        if self.pattern is None:
            return _Estimate(np.maximum(made, 0.0), followed)
        # Every possible cell keeps a little of its share, or what is left might not reach the margins.
        return _Estimate(self._fitted(np.maximum(made, _SMALLEST_KEPT * expected)), followed)

    def mixed(self, first: _Estimate, second: _Estimate, noisy: Floats) -> _Estimate:
        """Mix two estimates so that Stein's estimate of the squared error is least.

        Stein (1981, "Estimation of the mean of a multivariate normal distribution", Annals of Statistics 9).
        """
        step = second.shares - first.shares
        more = second.followed - first.followed
        length = float(np.square(step).sum())
        gain = float((self._centred(noisy - first.shares) * step).sum()) - more
        part = min(max(gain / length, 0.0), 1.0) if length > 0.0 else 0.0
        return _Estimate(first.shares + part * step, first.followed + part * more)

    def _centred(self, tables: Floats) -> Floats:
        return centred(tables) if self.pattern is None else self.pattern.centred(tables)

    def _fitted(self, tables: Floats) -> Floats:
        if self.pattern is None:
            return tables
        return self.pattern.fitted(tables, self.product.sum(axis=2), self.product.sum(axis=1))[0]

    @property
    def _left(self) -> Floats:
        """Which part of a cell's variance centring leaves, of every slice."""
        if self.pattern is not None:
            return self.pattern.left
        slices, rows, columns = self.product.shape
        return np.full((slices, 1, 1), (1.0 - 1.0 / rows) * (1.0 - 1.0 / columns))
