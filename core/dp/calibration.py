"""The smallest noise that keeps a whole composition within a guarantee: deterministic and data-free."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from core.dp import gaussian
from core.dp.accountant import epsilons
from core.dp.errors import TargetOutOfReach
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Mechanism

DIGITS = 6
"""Significant digits of a noise multiplier in a plan; the rest is rounded up."""
SMALLEST_SCALE, LARGEST_SCALE = 0.05, 1e6
"""Range of noise multipliers. The verifier can recompute epsilon down to about 0.035."""
_WIDTH = 4e-4
"""The search ends when the logarithm of the scale is known to this."""
_CLOSE = 2e-5
"""Or when the reported epsilon is this close, relatively, below the target."""
_FARTHEST = 100.0
"""Largest absolute logarithm of epsilon over the target that the search steps by: epsilon can be zero."""


def round_up(value: float, digits: int = DIGITS) -> float:
    """Return the smallest number of `digits` significant decimal digits that is at least `value` > 0.

    A number with at most so many digits is returned unchanged.
    """
    exact = Decimal(repr(value))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_CEILING))


def gaussian_noise_multiplier(guarantee: PrivacyGuarantee, *, share: float = 1.0) -> float:
    """Return the smallest noise multiplier of one Gaussian for `share` of a guarantee's squared mu, rounded up."""
    # One part in 10^12 more than the exact answer: later rounding must not exceed the target.
    return round_up(1 / (gaussian.largest_mu(guarantee) * math.sqrt(share)) * (1 + 1e-12))


def sampled_gaussian_guess(*, sampling_rate: float, squares: Callable[[float], float], mu: float) -> float:
    """Return the scale at which the sampled steps together have `mu` by the central limit theorem.

    It is only the start of the search (as a bound it would understate epsilon): mu^2 = rate^2 * sum of (exp(1/sigma^2) - 1) over steps.

    Args:
        squares: Maps a scale to the sum over steps of exp(1/sigma^2) - 1; falling.
    """
    low, high = math.log(SMALLEST_SCALE), math.log(LARGEST_SCALE)
    for _ in range(40):
        middle = (low + high) / 2
        if sampling_rate**2 * squares(math.exp(middle)) > mu**2:
            low = middle
        else:
            high = middle
    return math.exp(high)


def smallest_scale(
    build: Callable[[float], Mechanism], *, guarantee: PrivacyGuarantee, guess: float, slope: float
) -> float:
    """Return the smallest scale at which `build(scale)` stays within `guarantee` by the reported epsilon.

    The answer has been checked: the reported `epsilons(build(answer), delta=...)` is at most the guarantee's epsilon.

    Args:
        build: Maps a noise scale to the whole composition; its epsilon falls with the scale.
        slope: How much the logarithm of epsilon falls per unit of the logarithm of the scale, roughly, in (0, 1].

    Raises:
        TargetOutOfReach: even the largest scale exceeds the target.
    """

    def evaluate(scale: float) -> _Point:
        scale = round_up(min(max(scale, SMALLEST_SCALE), LARGEST_SCALE))
        reported = epsilons(build(scale), delta=guarantee.delta).reported
        share = reported / guarantee.epsilon
        return _Point(scale=scale, excess=math.log(share) if share > 0 else -math.inf)

    point = evaluate(guess)
    stride = min(abs(point.excess), _FARTHEST) / slope * 1.05 + _WIDTH / 4
    low: _Point | None = None
    high: _Point | None = None
    while True:
        low, high = (point, high) if point.excess > 0 else (low, point)
        if high is None:
            if point.scale >= LARGEST_SCALE:
                break
            point = evaluate(point.scale * math.exp(min(stride, 3.0)))
        elif -high.excess < _CLOSE or high.scale <= SMALLEST_SCALE:
            break
        elif low is None:
            point = evaluate(point.scale * math.exp(-min(stride, 3.0)))
        elif math.log(high.scale / low.scale) < _WIDTH:
            break
        else:
            between = _between(low, high)
            if between is None:
                break
            point = evaluate(between)
        stride *= 2
    if high is None:
        raise TargetOutOfReach(
            "no amount of noise on the training steps brings this plan under the target",
            remedy="raise epsilon, lower the anchor's share, or refresh thresholds less often or with more noise",
        )
    return high.scale


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """One evaluated scale, and the logarithm of its epsilon over the target: negative is within."""

    scale: float
    excess: float


def _between(low: _Point, high: _Point) -> float | None:
    """Return the scale where a chord in logarithms meets just below the target, kept off both ends, or the middle; None if there is no scale between.

    Scales are rounded up, so one just below `high` may be `high` again.
    """
    position = (low.excess + _CLOSE / 2) / (low.excess - max(high.excess, -_FARTHEST))
    for share in (min(max(position, 0.02), 0.98), 0.5):
        scale = round_up(low.scale * math.exp(math.log(high.scale / low.scale) * share))
        if scale < high.scale:
            return scale
    return None
