"""The pointwise largest of several privacy curves, which bounds a mechanism that is one of them, whichever it is.

delta(epsilon) of any pair of laws is convex and falling in exp(epsilon); a maximum of such functions is such a function, so
it is the curve of a pair of laws, which dominates each mechanism that has one of the curves, and stays dominating under
adaptive composition (Zhu, Dong and Wang 2022, proposition 7 and theorem 10). The larger epsilon at one delta is not enough:
the part with the smaller epsilon alone may have the larger one after composition.
"""

from collections.abc import Sequence

import numpy as np

from core.privacy.hockey_stick import Floats, HockeyStick


def largest_of(curves: Sequence[HockeyStick]) -> HockeyStick:
    """Return the pointwise largest of several curves."""

    def deltas(epsilons: Floats) -> Floats:
        return np.asarray(np.max([curve.deltas(epsilons) for curve in curves], axis=0))

    return HockeyStick(
        deltas=deltas,
        lowest=min(curve.lowest for curve in curves),
        highest=max(curve.highest for curve in curves),
    )


def through_points(points: Floats, *, spacing: float, lowest: float) -> HockeyStick:
    """Return the curve through upper bounds at 0, `spacing`, ..., by chords in exp(epsilon), which lie above a convex curve.

    Beyond the last point its bound holds on.

    Args:
        points: falling.
        spacing: between two points.
        lowest: the smallest loss.
    """
    grid = np.arange(len(points), dtype=np.float64) * spacing

    def deltas(epsilons: Floats) -> Floats:
        left = np.clip(np.floor(epsilons / spacing), 0, len(points) - 1).astype(np.int64)
        right = np.minimum(left + 1, len(points) - 1)
        share = np.clip(np.expm1(epsilons - grid[left]) / np.expm1(spacing), 0.0, 1.0)
        return np.asarray(points[left] + share * (points[right] - points[left]))

    return HockeyStick(deltas=deltas, lowest=lowest, highest=float(grid[-1]))
