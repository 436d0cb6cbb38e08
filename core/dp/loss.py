"""Epsilon by the privacy loss distribution (connect-the-dots), pessimistic at every step, composed at once, in both directions.

The spacing of the grid follows from the number of runs: the grid costs at most one more Gaussian release with `GRID_SHARE`
of the composition's squared mu. The larger epsilon of the two directions (a unit added, a unit removed)
counts, after composition.

The method is that of the accounting library (dp-accounting); tests compare every part with it. Composing all runs at once
instead of one by one makes a quote of sixteen different mechanisms take a fraction of a second.
"""

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from core.dp import gaussian, mechanism
from core.dp.composition import Outline, Runs, composed_deltas, composed_epsilon
from core.dp.connected_dots import Losses, connect_curve, connect_dots, spacing_of
from core.dp.hockey_stick import Direction, HockeyStick, hockey_stick, largest_of, through_points
from core.dp.mechanism import Gaussian, Largest, Leaf, PoissonSampled
from core.dp.renyi import FINE_ORDERS, epsilon_of_rdp, rdp_of_leaf, rdp_of_leaves

GRID_SHARE = 3e-4
"""The share of a composition's squared mu that its grid may cost."""
LARGEST_SPACING = 2.0**-7
_SMALLEST_MU = 1e-9
"""A grid that costs at most this is fine enough for any composition: the ledger's resolution is a thousand times coarser."""
MOST_POINTS = 2**19
_LOST = 1e-7
"""The share of delta that losses beyond the grid may take."""
_LARGEST_LOSS = 300.0
"""Above this, exponentials leave float64's range: such losses count as infinite, and if delta does not cover them the Renyi
bound answers alone."""
_CURVE_DELTA = 1e-12
"""The smallest delta at which a whole curve keeps its digits."""
_CURVE_SPACING = 0.02
"""Spacing of the grid of a largest curve, over the deviation of its loss."""


def epsilon_of_leaves(counts: Mapping[Leaf, int], delta: float) -> float:
    """Return an upper bound on epsilon at `delta` for all runs together; exact if all are plain Gaussians."""
    mu, others = merge_gaussians(counts)
    if not others:
        return gaussian.epsilon_of(mu, delta) if mu > 0 else 0.0
    rdp = rdp_of_leaves(counts, FINE_ORDERS)
    epsilon = math.inf
    if discretised := _on_a_grid(counts, delta):
        spacing, both = discretised
        epsilon = max(composed_epsilon(directed, outline, delta, spacing) for directed, outline in both)
    return epsilon_of_rdp(rdp, FINE_ORDERS, delta) if math.isinf(epsilon) else epsilon


def merge_gaussians(counts: Mapping[Leaf, int]) -> tuple[float, dict[Leaf, int]]:
    """Return the mu of all unsampled Gaussians together (exact), and the other leaves."""
    others: dict[Leaf, int] = {}
    squares: list[float] = []
    for leaf, count in counts.items():
        plain = leaf.mechanism if isinstance(leaf, PoissonSampled) and leaf.sampling_rate == 1 else leaf
        if isinstance(plain, Gaussian):
            squares.append(count / plain.noise_multiplier**2)
        else:
            others[leaf] = count
    return math.sqrt(math.fsum(squares)), others


def _on_a_grid(counts: Mapping[Leaf, int], delta: float) -> tuple[float, list[tuple[Runs, Outline]]] | None:
    """Return a grid's spacing and all runs on it with their outline, per direction, for `delta`; None if none fits."""
    rdp = rdp_of_leaves(counts, FINE_ORDERS)
    reach = min(epsilon_of_rdp(rdp, FINE_ORDERS, delta * _LOST) + 1, _LARGEST_LOSS)
    mu, others = merge_gaussians(counts)
    runs = dict(sorted(others.items(), key=repr))
    if mu > 0:
        runs[Gaussian(noise_multiplier=1 / mu)] = 1
    # The variance of the loss is near RDP(2) if the loss is small, else near (reach / 8)^2.
    variance = min(float(rdp[FINE_ORDERS.index(2.0)]), (reach / 8) ** 2)
    return _discretised(runs, delta, variance=variance, reach=reach)


@lru_cache(maxsize=256)
def curves_of(runs: mechanism.Runs) -> dict[Direction, HockeyStick] | None:
    """Return delta(epsilon), at epsilons of at least zero, of several runs together, per direction: never below the truth.

    In closed form for plain Gaussians and for a single run, else through the points of a grid. None if no grid fits.
    """
    mu, others = merge_gaussians(dict(runs))
    if not others:
        return {way: hockey_stick(Gaussian(noise_multiplier=1 / mu), way) for way in Direction}
    if mu == 0 and sum(others.values()) == 1:
        return {way: hockey_stick(next(iter(others)), way) for way in Direction}
    discretised = _on_a_grid(dict(runs), _CURVE_DELTA)
    if discretised is None:
        return None
    spacing, both = discretised
    removed, added = (composed_deltas(directed, outline, spacing) for directed, outline in both)
    # At zero both are the total variation. If the bounds differ, the larger counts for both, or mass would be missing.
    removed[0] = added[0] = max(removed[0], added[0])
    return {
        Direction.REMOVED: through_points(removed, spacing=spacing, lowest=-spacing * len(added)),
        Direction.ADDED: through_points(added, spacing=spacing, lowest=-spacing * len(removed)),
    }


def _connected(leaf: Leaf, direction: Direction, spacing: float, *, reach: float) -> Losses | None:
    """Return one run's losses on the grid; None where a curve in it is beyond every grid.

    A largest curve is one run among many, and second differences of its points lose digits on a fine grid, so it gets a
    coarser one: that costs no more than one Gaussian of an 80th of its deviation.
    """
    if not isinstance(leaf, Largest):
        return connect_dots(leaf, direction, spacing, reach=reach)
    curves = [curves for runs in leaf.alternatives if (curves := curves_of(runs)) is not None]
    if len(curves) < len(leaf.alternatives):
        return None
    deviation = math.sqrt(float(rdp_of_leaf(leaf, np.asarray([2.0]))[0]))
    factor = 2 ** max(0, math.floor(math.log2(_CURVE_SPACING * deviation / spacing)))
    curve, reverse = (largest_of([one[way] for one in curves]) for way in (direction, direction.other))
    return connect_curve(curve, reverse, spacing * factor, reach=reach).on_finer_grid(factor)


def _discretised(
    runs: Mapping[Leaf, int], delta: float, *, variance: float, reach: float
) -> tuple[float, list[tuple[Runs, Outline]]] | None:
    """Return the spacing and all runs on its grid with their outline, per direction; the first guess is refined until it stays.

    None if the composition spreads so far that single losses would fall between two points of any grid that fits in memory.
    The variance of a discretised loss is at most a little above the true one, so each round comes closer from above.
    """
    count = sum(runs.values())
    spacing = _spacing(variance=variance, runs=count, span=2 * reach)
    settled = False
    while True:
        both = [
            [
                (losses, times)
                for leaf, times in runs.items()
                if (losses := _connected(leaf, direction, spacing, reach=reach)) is not None
            ]
            for direction in Direction
        ]
        if any(len(directed) < len(runs) for directed in both):
            return None
        outlines = [Outline.of(directed, delta, spacing) for directed in both]
        epsilons, tilts = zip(*(outline.epsilon(delta, spacing) for outline in outlines), strict=True)
        windows = [outline.window(tilt) for outline, tilt in zip(outlines, tilts, strict=True)]
        # A few rare large losses may dominate the variance; only the part that decides epsilon counts.
        variance = min(
            max(outline.variance for outline in outlines) * spacing**2,
            max(*epsilons, 0.0) ** 2 / (2 * math.log(1 / delta)),
        )
        farther = max(outline.epsilon(delta * _LOST, spacing)[0] for outline in outlines) + 1e-9
        reach = max(min(reach, farther), spacing)
        span = max(2 * reach, *((highest - lowest) * spacing for lowest, highest in windows))
        finer = _spacing(variance=variance, runs=count, span=span)
        if finer > _LARGEST_LOSS:
            return None
        if settled or spacing / 2 < finer < 2 * spacing or max(epsilons) <= 0:
            return spacing, list(zip(both, outlines, strict=True))
        settled = finer > spacing
        spacing = finer


def _spacing(*, variance: float, runs: int, span: float) -> float:
    """Return the grid's spacing, a power of two: small enough for `GRID_SHARE`, large enough for memory."""
    wanted = spacing_of(mu=max(math.sqrt(GRID_SHARE * variance), _SMALLEST_MU), runs=runs)
    fine = 2.0 ** math.floor(math.log2(min(wanted, LARGEST_SPACING)))
    return max(fine, 2.0 ** math.ceil(math.log2(span / MOST_POINTS)))
