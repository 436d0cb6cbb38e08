"""The loss of many runs together: one tilted Fourier transform, and a bound on everything that it rounds.

A plain transform errs by about 1e-16 per run relative to the *whole* mass, which is more than a delta of 1e-12 already
at ten thousand runs. So every distribution is first tilted by exp(order * loss), with the order that puts the composed
mass where delta is decided; then the same error is relative to delta. The error
of rounding, of the finite window and of the tails is bounded from the computed spectrum itself and added to delta.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from core.dp.connected_dots import Losses
from core.dp.hockey_stick import Floats

Runs = Sequence[tuple[Losses, int]]

_COARSE = 9
_ORDERS = np.asarray([-2.0, -1.0, 0.0, 0.25, 0.35, 0.5, 0.7, 0.84, 1.0, 1.06, 1.19, 1.41, 2.0, 2.83, 4.0])
"""Orders of the Chernoff bounds, in units of the best one."""
_ZERO = 2
_NEAR = 4.0
"""Allowed increase in the logarithm of an error's weight on delta, relative to the best order."""
_OUTSIDE = 1e-10
"""Tilted mass outside the window, on either side."""
_UNIT = 2.0**-53
_LARGEST_EXPONENT = 300.0
_CURVE_TILTS = (_ZERO, 3, 8)
"""Orders, by number, for a whole curve: none, for the case that a tilt would leave zero outside its window; a quarter of the
best, for the body; and the best, for the tail."""
_RELATIVE = 1e-9
"""Bound on the loss of sums and differences over the window, relative to delta."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """An outline of a composed loss, computed without composing it; in spacings."""

    variance: float
    orders: Floats
    log_moments: Floats
    """log E[exp(order * loss)] over the finite losses, per order."""
    infinite: float
    """The probability that some run's loss is infinite."""
    lowest: int
    highest: int

    @classmethod
    def of(cls, runs: Runs, delta: float, spacing: float) -> "Outline":
        """Outline the sum of all runs, with orders that suit `delta`."""
        variance = sum(count * one.variance() for one, count in runs)
        deviation = math.sqrt(max(variance, 1.0))
        # Where losses are nearly normal the best order is a few over their deviation; where few large ones decide, near 1.
        sketches = [(one.sketch(), count) for one, count in runs]
        tried = np.geomspace(min(0.1 / deviation, 0.1 * spacing), 64 / deviation, _COARSE)
        best = int(np.argmin(_bounds(tried / spacing, _log_moments(sketches, tried), delta)))
        tried = np.geomspace(tried[max(best - 1, 0)], tried[min(best + 1, _COARSE - 1)], _COARSE)
        best = int(np.argmin(_bounds(tried / spacing, _log_moments(sketches, tried), delta)))
        orders = _ORDERS * tried[best]
        return cls(
            variance=variance,
            orders=orders,
            log_moments=_log_moments(runs, orders),
            infinite=-math.expm1(
                sum(
                    count * (math.log1p(-one.infinite) if one.infinite < 1 else -math.inf)
                    for one, count in runs
                )
            ),
            lowest=sum(count * one.lowest for one, count in runs),
            highest=sum(count * one.highest for one, count in runs),
        )

    def epsilon(self, delta: float, spacing: float) -> tuple[float, int]:
        """Return an epsilon (perhaps negative) of the finite losses at `delta`, and the number of the order to tilt by.

        Near the best order errors hardly grow, so the one with the smallest window is taken: too strong a tilt of heavy
        tails would need a window over all of them.
        """
        positive = slice(_ZERO + 1, None)
        bounds = _bounds(self.orders[positive] / spacing, self.log_moments[positive], delta)
        best = int(np.argmin(bounds))
        exponents = (self.log_moments - self.orders * bounds[best] / spacing)[positive]
        near = (np.flatnonzero(exponents <= exponents[best] + _NEAR) + _ZERO + 1).tolist()
        lengths = [highest - lowest for lowest, highest in map(self.window, near)]
        return float(bounds[best]), near[int(np.argmin(lengths))]

    def window(self, tilt: int) -> tuple[int, int]:
        """Return indices outside which the distribution tilted by order number `tilt` has at most `_OUTSIDE` a side.

        If the window's end is `highest`, no mass is above it.
        """
        gaps = self.orders - self.orders[tilt]
        rises = self.log_moments - self.log_moments[tilt] - math.log(_OUTSIDE)
        lowest = float(np.max(rises[:tilt] / gaps[:tilt]))
        highest = float(np.min(rises[tilt + 1 :] / gaps[tilt + 1 :], initial=math.inf))
        first = max(self.lowest, math.floor(lowest))
        return first, max(math.ceil(min(self.highest, highest)), first + 1, 1)


def _log_moments(runs: Runs, orders: Floats) -> Floats:
    moments = np.zeros_like(orders)
    for one, count in runs:
        moments += count * one.log_moments(orders)
    return moments


def _bounds(orders: Floats, log_moments: Floats, delta: float) -> Floats:
    """Return epsilon at `delta` by each order: Canonne, Kamath and Steinke 2020, proposition 12, at Renyi order 1 + order."""
    return (log_moments - math.log(delta) - np.log1p(orders)) / orders - np.log1p(1 / orders)


def composed_epsilon(runs: Runs, outline: Outline, delta: float, spacing: float) -> float:
    """Return the smallest epsilon >= 0 that the loss of all `runs` keeps at `delta`, rounded up; infinite if there is none."""
    if outline.infinite >= delta:
        return math.inf
    _bound, tilt = outline.epsilon(delta, spacing)
    aim = delta * (1 - _RELATIVE) - outline.infinite
    return _epsilon(_compose(runs, outline, tilt), aim, spacing) * (1 + _RELATIVE * 1e-3)


def composed_deltas(runs: Runs, outline: Outline, spacing: float) -> Floats:
    """Return upper bounds on delta at 0, `spacing`, 2 `spacing`, ... of the loss of all `runs`; the last holds for ever.

    Each tilt bounds every delta from its window on; of two bounds the smaller counts.
    """
    windows = [outline.window(tilt) for tilt in _CURVE_TILTS]
    bounds = np.ones(max(highest for _, highest in windows) + 1)
    for tilt in _CURVE_TILTS:
        composed = _compose(runs, outline, tilt)
        indices, deltas, _, slack = _deltas(composed, spacing)
        upper = np.minimum(deltas + slack + outline.infinite, 1.0)
        first, end = int(indices[0]), int(indices[-1]) + 1
        np.minimum(bounds[first:end], upper, out=bounds[first:end])
        np.minimum(bounds[end:], upper[-1], out=bounds[end:])
    return np.minimum.accumulate(bounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tilted:
    """A composed loss: P(loss = index) = masses * exp(log_scale - order * index), with bounds on its errors."""

    lowest: int
    masses: Floats
    order: float
    log_scale: float
    error: float
    """Bound on the Euclidean norm of the error in `masses`."""
    lost: float
    """Bound on the probability of the losses above."""


def _compose(runs: Runs, outline: Outline, tilt: int) -> Tilted:
    """Multiply powers of the runs' transforms, and bound the rounding error of each frequency.

    A transform of masses that sum to one errs by at most 7 units of the last place per stage (Higham 2002, chapter 24: the
    argument holds for each frequency, with the sum of absolute values for the norm); its input by those of its exponents.
    """
    order = float(outline.orders[tilt])
    lowest, highest = outline.window(tilt)
    size = fft.next_fast_len(highest - lowest + 1, real=True)
    frequencies = size // 2 + 1
    exponents, phases, ceilings = (np.zeros(frequencies) for _ in range(3))
    farthest = order * max(max(-one.lowest, one.highest) for one, _ in runs)
    rounding = _UNIT * (7 * math.log2(size) + 2 * farthest + 100)
    log_scale = 0.0
    for one, count in runs:
        log_moment = float(one.log_moments(np.asarray([order]))[0])
        log_scale += count * log_moment
        # Loss zero is at index zero. Negative losses wrap around, and so does mass outside the window.
        indices = np.arange(one.lowest, one.highest + 1)
        with np.errstate(divide="ignore"):
            weights = np.exp(np.log(one.probabilities) + order * indices - log_moment)
        spectrum = fft.rfft(np.bincount(indices % size, weights=weights, minlength=size))
        magnitudes = np.maximum(np.abs(spectrum), 1e-300)
        exponents += count * np.log(magnitudes)
        phases += count * np.angle(spectrum)
        ceilings += count * np.log(magnitudes + rounding)
    composed = fft.irfft(np.exp(exponents + 1j * phases), size)[np.arange(lowest, highest + 1) % size]
    # Error of each frequency if every run's is at most _ROUNDING; then Parseval.
    ceilings = np.minimum(ceilings, _LARGEST_EXPONENT)
    slack = np.exp(ceilings) * -np.expm1(np.minimum(exponents - ceilings, 0.0))
    error = math.sqrt(2 * float(slack @ slack) / size) + rounding * math.sqrt(float(composed @ composed))
    return Tilted(
        lowest=lowest,
        masses=np.maximum(composed, 0.0),
        order=order,
        log_scale=log_scale,
        error=error,
        lost=_OUTSIDE * math.exp(log_scale - order * highest) if highest < outline.highest else 0.0,
    )


def _deltas(composed: Tilted, spacing: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return indices >= 0 of the grid, delta there, W there, and a bound on how much rounding lowered delta.

    With P the probabilities and W(k) = sum over j >= k of P(j) exp(-(j - k) spacing), delta at grid point i is
    (1 - exp(-spacing)) times the sum of W(k) over k > i: positive terms, nothing cancels.
    """
    first = max(0, -composed.lowest)  # negative losses do not contribute at epsilon >= 0
    indices = np.arange(first, len(composed.masses), dtype=np.float64) + composed.lowest
    # Far below the point that decides delta the scale may leave float64's range; any large number serves.
    scale = np.exp(np.minimum(composed.log_scale - composed.order * indices, _LARGEST_EXPONENT))
    weighted = _discounted(composed.masses[first:] * scale, spacing)
    deltas = composed.lost - math.expm1(-spacing) * np.append(np.cumsum(weighted[:0:-1])[::-1], 0.0)
    # The error weighs on delta at point i by its norm times that of (1 - exp(-(j - i) spacing)) / tilt over j > i.
    ratio = math.exp(-2 * composed.order)
    reach = math.sqrt(len(composed.masses))
    if ratio < 1:
        reach = min(
            math.sqrt(ratio / (1 - ratio)), spacing * math.sqrt(ratio * (1 + ratio) / (1 - ratio) ** 3)
        )
    return indices, deltas, weighted, composed.error * reach * scale


def _discounted(probabilities: Floats, spacing: float) -> Floats:
    """Return the sum of P(j) exp(-(j - k) spacing) over j >= k, for each k.

    Summed from above, in blocks in which no exponential leaves float64's range, for losses of any size.
    """
    length = max(int(_LARGEST_EXPONENT / spacing), 1)
    sums, above = np.empty_like(probabilities), 0.0
    for end in range(len(probabilities), 0, -length):
        block = probabilities[max(end - length, 0) : end]
        below_top = spacing * np.arange(len(block) - 1, -1, -1, dtype=np.float64)
        inside = np.cumsum((block * np.exp(below_top))[::-1])[::-1] + above
        sums[max(end - length, 0) : end] = inside * np.exp(-below_top)
        above = float(sums[max(end - length, 0)]) * math.exp(-spacing)
    return sums


def _epsilon(composed: Tilted, aim: float, spacing: float) -> float:
    """Return the smallest epsilon >= 0 whose delta is at most `aim`, exactly on the grid's distribution.

    Between grid points delta(epsilon) = delta(i) + W(i) (1 - exp(epsilon - i spacing)).
    """
    indices, deltas, weighted, slack = _deltas(composed, spacing)
    below = deltas + slack <= aim
    if not below[-1]:
        return math.inf
    inside = int(np.argmax(below))
    value = float(indices[inside]) * spacing
    # Without measurable mass above, delta does not rise towards the previous point.
    if inside == 0 or weighted[inside] == 0:
        return value
    room = aim - float(slack[inside - 1]) - float(deltas[inside])
    share = room / float(weighted[inside])
    return value + math.log1p(-share) if 0 < share < -math.expm1(-spacing) else value
