"""Shrinkage of a table's residuals: how much of each cell's difference from independence is kept, given the known noise.

A residual `r` is what a noisy share differs from the expected one, `e`. It is the sum of a true difference and of Gaussian noise of
known variance `s^2`. True differences are taken to be a scale mixture of normal distributions,

    sum over k of  w_k N(0, v_k),    v_k = 0  or  t e  or  t e^2

with scales `t` on a fixed grid. A variance in proportion to `e` is that of a Pearson residual, one in proportion to `e^2` that of a
ratio to independence: large cells differ more than small ones. The weights maximise the likelihood of the table's own residuals,
found by expectation maximisation, and a cell keeps its posterior mean. It is the adaptive shrinkage of Stephens (2017,
"False discovery rates: a new deal", Biostatistics 18) with prior variances that follow the cells; with one variance for all cells it
would be the rule of James and Stein (Efron and Morris 1973). Post-processing of a release, free of charge.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LEAST: Final = -5
_MOST: Final = 9
"""Logarithms of the least and the largest prior variance of the median cell, relative to the noise, in steps of one. There are larger ones
where a residual is larger."""
_POWERS: Final = (1.0, 2.0)
"""Powers of the expected share in proportion to which prior variances are."""
_ROUNDS: Final = 20
_LEAST_SHARE: Final = 1e-12
"""Cells that expect less expect nothing."""
_LEAST_LEFT: Final = 1e-9
"""Cells of which centring leaves less than this are known without counting, and keep nothing."""
_MOST_CELLS: Final = 2**16
"""Cells from which the weights are learnt, and cells that are shrunk at a time: memory holds some tens of numbers for each."""


def kept(residual: Floats, expected: Floats, *, variance: float | Floats, left: float | Floats) -> Floats:
    """Return the factor with which each residual is multiplied, between 0 and 1; of the residuals' shape.

    Args:
        residual: noisy shares less the expected ones, centred.
        expected: shares without any dependence, of the same shape. A cell that expects nothing keeps nothing.
        variance: of the noise on a cell before centring; one or of every cell.
        left: which part of a variance centring leaves; one or of every cell.
    """
    factors = np.zeros(residual.size)
    noise, parts, shares = (
        np.broadcast_to(value, residual.shape).ravel() for value in (variance, left, expected)
    )
    possible = np.flatnonzero((shares > _LEAST_SHARE) & (noise * parts > _LEAST_LEFT * np.max(noise)))
    if len(possible) == 0:
        return factors.reshape(residual.shape)
    cells = _Cells(shares[possible], residual.ravel()[possible] ** 2, noise[possible], parts[possible])
    grid = cells.grid()
    sample = cells.part(slice(None, None, -(-len(possible) // _MOST_CELLS)))
    weights = _weights(np.exp(sample.log_likelihoods(grid)))
    for start in range(0, len(possible), _MOST_CELLS):
        chunk = slice(start, start + _MOST_CELLS)
        factors[possible[chunk]] = cells.part(chunk).posterior(weights, grid)
    return factors.reshape(residual.shape)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Cells of a table; each field (cells,)."""

    shares: Floats
    squares: Floats
    noise: Floats
    left: Floats

    def part(self, which: slice) -> "_Cells":
        return _Cells(self.shares[which], self.squares[which], self.noise[which], self.left[which])

    def grid(self) -> list[Floats]:
        """The scales of each power."""
        noise = float(np.median(self.noise))
        most = max(_MOST, math.ceil(math.log(max(float(self.squares.max()) / noise, 1.0))))
        scales = noise * np.exp(np.arange(_LEAST, most + 1))
        return [scales / np.median(self.shares**power) for power in _POWERS]

    def priors(self, grid: list[Floats]) -> Floats:
        """Variances of the true difference of every cell under every component; (components, cells)."""
        made = [np.outer(scales, self.shares**power) for power, scales in zip(_POWERS, grid, strict=True)]
        return np.concatenate([np.zeros((1, len(self.shares))), *made])

    def log_likelihoods(self, grid: list[Floats]) -> Floats:
        """Log densities of the residuals under every component, less the largest of the cell; (components, cells)."""
        variances = self.left * (self.priors(grid) + self.noise)
        logarithms: Floats = -0.5 * (np.log(variances) + self.squares / variances)
        logarithms -= logarithms.max(axis=0)
        return logarithms

    def posterior(self, weights: Floats, grid: list[Floats]) -> Floats:
        """Mean factor of every cell, given the weights of the components."""
        priors = self.priors(grid)
        chances = weights[:, None] * np.exp(self.log_likelihoods(grid))
        mean: Floats = (chances * (priors / (priors + self.noise))).sum(axis=0) / chances.sum(axis=0)
        return mean


def _weights(likelihoods: Floats) -> Floats:
    """Weights of the components by expectation maximisation; (components,), with sum one."""
    components, cells = likelihoods.shape
    weights = np.full(components, 1.0 / components)
    for _ in range(_ROUNDS):
        weights = weights * (likelihoods @ (1.0 / (weights @ likelihoods))) / cells
    return weights
