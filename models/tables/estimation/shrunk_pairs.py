"""Noisy shares of pairs of columns, shrunk. Post-processing of a release, free of charge.

The noise is known, so what it explains is taken off. The residual of a pair of columns is its noisy shares less the product of its
columns' shares. Each cell keeps the part of its residual that the noise does not explain (`models.tables.estimation.shrinkage`). Where other pairs
imply that two columns depend on each other, the residual is taken from what they imply (`models.tables.estimation.implied`). By class of the
target the product is that of the columns' shares within each class, and two residuals are shrunk: what all classes have in common,
and what each has of its own.

Where declared rules leave cells empty (`models.tables.estimation.zeros`), the product becomes the quasi-independent law that has the same margins
on the other cells.
"""

import numpy as np
import numpy.typing as npt

from models.simplex import SMALLEST_SHARE
from models.tables.anchor import MomentLayout
from models.tables.estimation.implied import centred, implied_laws, independent
from models.tables.estimation.shrinkage import kept
from models.tables.estimation.zeros import Pattern, Zeros

Floats = npt.NDArray[np.float64]
_SMALLEST_KEPT = 1e-3


def shrunk_pairs(
    pairs: Floats,
    ones: Floats,
    law: Floats,
    pair_std: Floats,
    layout: MomentLayout,
    zeros: Zeros | None = None,
) -> Floats:
    """Shrink the noisy shares of all pairs towards independence within the slice, then towards what other pairs imply of them."""
    patterns = {} if zeros is None else zeros.pairs
    shrunk = np.zeros_like(pairs)
    for i, block in enumerate(layout.blocks):
        for j, other in enumerate(layout.blocks[:i]):
            variance = pair_std[block.start, other.start] ** 2
            noisy = pairs[:, block, other] if layout.counted[block.start, other.start] else None
            made = independent(ones, law, block, other)
            if (i, j) in patterns:
                margins = ones[:, block], ones[:, other]
                made = _shrunk_on(patterns[i, j], noisy, margins, law, variance)
            elif noisy is not None:
                made = _shrunk_towards(made, noisy, law, variance)
            _put(shrunk, block, other, made)
    for (i, j), implied in implied_laws(pairs, shrunk, ones, law, pair_std, layout).items():
        if (i, j) in patterns:
            continue
        block, other = layout.blocks[i], layout.blocks[j]
        made = implied
        if layout.counted[block.start, other.start]:
            variance = pair_std[block.start, other.start] ** 2
            made = _shrunk_towards(implied, pairs[:, block, other], law, variance)
        _put(shrunk, block, other, made)
    return shrunk


def _put(tables: Floats, block: slice, other: slice, made: Floats) -> None:
    tables[:, block, other] = made
    tables[:, other, block] = made.transpose(0, 2, 1)


def _shrunk_towards(expected: Floats, noisy: Floats, law: Floats, variance: float) -> Floats:
    """Shrink the noisy shares of a pair towards the expected ones; (slices, rows, columns) each.

    Args:
        expected: with the margins of the columns.
        noisy: as released.
        law: (slices,) shares of the slices.
        variance: of the noise on a cell.
    """
    slices = len(law)
    # Of S slices with shares p, what one has of its own has 1 - 2 p + S p^2 times the variance of a slice: (S - 1) / S where all are even.
    of_own = (1.0 - 2.0 * law + slices * law**2)[:, None, None]
    residual = centred(noisy - expected)
    left = (1.0 - 1.0 / residual.shape[1]) * (1.0 - 1.0 / residual.shape[2])
    common = residual.sum(axis=0)
    own = residual - law[:, None, None] * common
    common *= kept(common, expected.sum(axis=0), variance=variance * slices, left=left)
    own *= kept(own, expected, variance=variance * of_own, left=left)
    shrunk: Floats = np.maximum(expected + law[:, None, None] * common + own, 0.0)
    return shrunk


def _shrunk_on(
    pattern: Pattern, noisy: Floats | None, margins: tuple[Floats, Floats], law: Floats, variance: float
) -> Floats:
    """Shrink the noisy shares of a pair towards quasi-independence within the slice, on the cells that are possible.

    Args:
        pattern: which cells are possible.
        noisy: (slices, rows, columns); None where the pair was not counted.
        margins: (slices, rows) and (slices, columns) shares, which stay.
        law: (slices,) shares of the slices.
        variance: of the noise on a cell.
    """
    rows, columns = margins
    slices, part = len(law), law[:, None, None]
    quasi, _ = pattern.fitted(rows[:, :, None] * columns[:, None, :] / part, rows, columns)
    if noisy is None:
        return quasi
    residual = pattern.centred(noisy - quasi)
    common = residual.sum(axis=0)
    own = residual - part * common
    # As in `_shrunk`, but cells and slices may differ in what centring leaves.
    of_own = 1.0 - 2.0 * part + slices * part**2
    whole = pattern.left.sum(axis=0)
    left_of_own = (pattern.left * (1.0 - 2.0 * part) + part**2 * whole) / np.maximum(of_own, SMALLEST_SHARE)
    common *= kept(common, quasi.sum(axis=0), variance=variance * slices, left=whole / slices)
    own *= kept(own, quasi, variance=variance * of_own, left=left_of_own)
    made = quasi + pattern.centred(law[:, None, None] * common + own)
    # Every possible cell keeps a little of its share, or what is left might not reach the margins.
    return pattern.fitted(np.maximum(made, _SMALLEST_KEPT * quasi), rows, columns)[0]
