"""One run's privacy loss on a grid, never understated: the connect-the-dots method.

The discretised loss has, at every grid point, exactly the delta of the run, and between grid points the chord
(Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, algorithm 1). Each loss is thereby split between its two
neighbours on the grid, which is what one run of randomised response with a range of one spacing adds, and that is
dominated by a Gaussian release of mu = spacing sqrt(pi / 8). So the grid costs a composition of `runs` runs at most what
one more Gaussian of `grid_mu` would cost (docs/mechanisms/accounting.md has the proof).
"""

import math
from dataclasses import dataclass

import numpy as np

from core.dp.hockey_stick import Direction, Floats, HockeyStick, hockey_stick
from core.dp.mechanism import Leaf

_UNIT = 2.0**-53
_SKETCH = 2**12
_BLOCK = 2**17
"""Maximum number of exponentials in memory at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Probabilities of the losses `lowest * spacing`, `(lowest + 1) * spacing`, ... and of an infinite loss."""

    lowest: int
    probabilities: Floats
    infinite: float

    @property
    def highest(self) -> int:
        """Index of the largest finite loss."""
        return self.lowest + len(self.probabilities) - 1

    def mean(self) -> float:
        """Return the mean of the finite losses, in spacings."""
        return float(self._indices() @ self.probabilities)

    def variance(self) -> float:
        """Return the variance of the finite losses, in squared spacings."""
        return float((self._indices() - self.mean()) ** 2 @ self.probabilities)

    def log_moments(self, orders: Floats) -> Floats:
        """Return log E[exp(order * index)] per order, over the finite losses."""
        support = np.flatnonzero(self.probabilities)
        logs, indices = np.log(self.probabilities[support]), (self.lowest + support).astype(np.float64)
        moments = np.empty_like(orders)
        rows = max(_BLOCK // len(support), 1)
        for first in range(0, len(orders), rows):
            # In place, because fresh memory for each step is slow.
            exponents = np.multiply.outer(orders[first : first + rows], indices)
            exponents += logs
            largest = exponents.max(axis=1)
            exponents -= largest[:, None]
            np.exp(exponents, out=exponents)
            moments[first : first + rows] = largest + np.log(exponents.sum(axis=1))
        return moments

    def sketch(self) -> "Losses":
        """Return an approximation of the distribution on few points, for cheap searches; it bounds nothing."""
        size = len(self.probabilities) // _SKETCH
        if size <= 1:
            return self
        blocks = np.arange(len(self.probabilities)) // size
        return Losses(
            lowest=self.lowest,
            probabilities=np.bincount(blocks * size + size // 2, self.probabilities).astype(np.float64),
            infinite=self.infinite,
        )

    def on_finer_grid(self, factor: int) -> "Losses":
        """Return the same distribution on a grid of a `factor`-th of the spacing."""
        probabilities = np.zeros((len(self.probabilities) - 1) * factor + 1)
        probabilities[::factor] = self.probabilities
        return Losses(lowest=self.lowest * factor, probabilities=probabilities, infinite=self.infinite)

    def _indices(self) -> Floats:
        return np.arange(self.lowest, self.highest + 1, dtype=np.float64)


def grid_mu(*, spacing: float, runs: int) -> float:
    """Return the mu of the Gaussian release that a grid of this spacing costs at most, over `runs` runs."""
    return spacing * math.sqrt(math.pi * runs / 8)


def spacing_of(*, mu: float, runs: int) -> float:
    """Return the spacing whose `grid_mu` is `mu`."""
    return mu / math.sqrt(math.pi * runs / 8)


def connect_dots(leaf: Leaf, direction: Direction, spacing: float, *, reach: float) -> Losses:
    """Return the smallest distribution on the grid whose delta(epsilon) is nowhere below the leaf's.

    Args:
        direction: Which of the two neighbouring tables the output is drawn from.
        reach: Losses below minus this are raised to it, losses above it are counted as infinite.
    """
    return connect_curve(
        hockey_stick(leaf, direction), hockey_stick(leaf, direction.other), spacing, reach=reach
    )


def connect_curve(curve: HockeyStick, reverse: HockeyStick, spacing: float, *, reach: float) -> Losses:
    """Return the smallest distribution on the grid whose delta(epsilon) is nowhere below a curve.

    Args:
        curve: Evaluated at epsilons of at least zero.
        reverse: The curve of the other direction; likewise.
        reach: As above.
    """
    lowest = min(math.floor(max(curve.lowest, -reach) / spacing), -1)
    highest = max(math.ceil(min(curve.highest, reach) / spacing), 1)
    grid = np.arange(highest + 1, dtype=np.float64) * spacing
    mirrored = np.arange(-lowest, -1, -1, dtype=np.float64) * spacing
    # A curve must stay monotone under rounding; the larger value counts.
    deltas = np.maximum.accumulate(curve.deltas(grid)[::-1])[::-1]
    # Below zero, delta is 1 - exp(epsilon), which no loss contributes to, plus this term, which is small if that is near one.
    excess = np.maximum.accumulate(np.exp(-mirrored) * reverse.deltas(mirrored))
    falls, rises = np.diff(deltas) / math.expm1(spacing), np.diff(excess) / math.expm1(spacing)
    growth = math.exp(spacing)
    probabilities = np.concatenate(
        [
            [rises[0] - excess[0]],
            rises[1:] - growth * rises[:-1],
            [1 + falls[0] - growth * rises[-1]],
            falls[1:] - growth * falls[:-1],
            [-growth * falls[-1]],
        ]
    )
    # The differences lose a few units in the last place of the subtrahend, which are added again.
    subtracted = np.concatenate([rises, [1.0], -falls])
    probabilities = np.maximum(probabilities, 0.0) + 8 * _UNIT * subtracted
    return Losses(lowest=lowest, probabilities=probabilities, infinite=float(deltas[-1]))
