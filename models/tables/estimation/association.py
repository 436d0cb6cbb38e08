"""Dependence of two ordered columns by one number, their odds ratio. Post-processing of a release, free of charge.

Numbers that depend on each other mostly do so smoothly: larger with larger, or larger with smaller. Plackett (1965, "A class of bivariate
distributions", Journal of the American Statistical Association 60) gives two margins one parameter of dependence: wherever both columns are
cut in two, the four quarters have the same odds ratio `psi`. It is one for independent columns, and large or near zero for columns that
determine each other. Of shares `u` and `v` below the two cuts, the share below both is

    2 psi u v / (s + sqrt(s^2 - 4 psi (psi - 1) u v)),    s = 1 + (psi - 1) (u + v).

One number is learnt well from counts whose single cells drown in noise. By class of the target all classes have the same one.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

FEWEST_GROUPS: Final = 3
"""Groups in order that a column must have: with two, there is nothing smooth."""
LOG_ODDS: Final = np.arange(-24, 25) / 2.0
"""Logarithms of the odds ratios that are tried; at the ends the rank correlation of even columns is 0.9999."""
_MOST_CELLS: Final = 2**20
"""Cells of distributions in memory at a time."""
_SMALLEST: Final = 1e-15


def distributions_of_one_ratio(independent: Floats, rows: Places, columns: Places) -> Iterator[Floats]:
    """Yield a distribution for every odds ratio of `LOG_ODDS`; (slices, rows, columns) each. None where a column has too few groups in order.

    Args:
        independent: (slices, rows, columns) shares of columns that are independent within the slice.
        rows: places of the groups in order, without those that have no place in it; between these and all others nothing changes.
        columns: likewise.
    """
    if min(len(rows), len(columns)) < FEWEST_GROUPS:
        return
    cells = len(independent) * len(rows) * len(columns)
    at_a_time = max(_MOST_CELLS // cells, 1)
    for start in range(0, len(LOG_ODDS), at_a_time):
        yield from _with_ratios(independent, rows, columns, np.exp(LOG_ODDS[start : start + at_a_time]))


def distribution_of_one_ratio(independent: Floats, rows: Places, columns: Places, log_odds: float) -> Floats:
    """Return the distribution of one odds ratio; arguments as in `distributions_of_one_ratio`."""
    (distribution,) = _with_ratios(independent, rows, columns, np.exp([log_odds]))
    return distribution


def _with_ratios(independent: Floats, rows: Places, columns: Places, ratios: Floats) -> Iterator[Floats]:
    inside = np.ix_(np.arange(len(independent)), rows, columns)
    for distribution in _plackett(independent[inside], ratios):
        made = independent.copy()
        made[inside] = distribution
        yield made


class Nearest(NamedTuple):
    """The distribution of one odds ratio that is nearest to some shares.

    Args:
        log_odds: logarithm of its odds ratio.
        distribution: (slices, rows, columns) shares.
        gain: how much nearer it is than independence, in squared distance.
    """

    log_odds: float
    distribution: Floats
    gain: float


def nearest(distributions: Iterable[Floats], independent: Floats, residual: Floats) -> Nearest | None:
    """Return the distribution that is nearest to some shares, or None if none is nearer than independence.

    Args:
        distributions: of the odds ratios of `LOG_ODDS`, with the margins of the independent one.
        independent: (slices, rows, columns) shares.
        residual: the shares less the independent ones, of the same shape, with margins of zero.
    """
    best = None
    for log_odds, distribution in zip(LOG_ODDS.tolist(), distributions, strict=False):
        step = distribution - independent
        gain = float((step * (2.0 * residual - step)).sum())
        if gain > (0.0 if best is None else best.gain):
            best = Nearest(log_odds, distribution, gain)
    return best


def _plackett(independent: Floats, ratios: Floats) -> Floats:
    """Return the distributions with the margins of independent ones and the odds ratios; (ratios, slices, rows, columns)."""
    whole = np.maximum(independent.sum(axis=(1, 2)), _SMALLEST)
    u, v = (_below(independent.sum(axis=axis) / whole[:, None]) for axis in (2, 1))
    excess = (ratios - 1.0)[:, None, None, None]
    product = u[:, :, None] * v[:, None, :]
    sums = 1.0 + excess * (u[:, :, None] + v[:, None, :])
    root = np.sqrt(np.maximum(sums**2 - 4.0 * excess * (1.0 + excess) * product, 0.0))
    below = 2.0 * (1.0 + excess) * product / np.maximum(sums + root, _SMALLEST)
    distributions: Floats = np.maximum(np.diff(np.diff(below, axis=2), axis=3), 0.0) * whole[:, None, None]
    return distributions


def _below(shares: Floats) -> Floats:
    """Shares below each cut, from none to all; (slices, cuts)."""
    made = np.concatenate([np.zeros((len(shares), 1)), shares.cumsum(axis=1)], axis=1)
    below: Floats = np.minimum(made, 1.0)
    return below
