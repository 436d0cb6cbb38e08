"""The privacy loss of a group of units, such as two records of one person.

A release whose guarantee is for one unit still bounds what it reveals about `units` of them together, at a larger epsilon. Two valid
upper bounds are computed, and the smaller counts:

* *Each part with the whole group as one unit.* The group moves a sum by at most `units` times its sensitivity, so a Gaussian or a Laplace
  release has the loss of one with the noise divided by `units`; exact for Gaussians. Of a Poisson-sampled Gaussian a binomial number of
  the group's members is drawn, so it is dominated by a mixture of Gaussians at 0, 1, ..., `units` with binomial weights against the one at 0
  (Ganesh 2024, "Tight Group-Level DP Guarantees for DP-SGD with Sampling via Mixture of Gaussians Mechanisms", arXiv 2401.10294). The Renyi
  divergences of the mixture are integrated in both directions and composed.
* *Conversion of the whole.* If a mechanism is (epsilon, delta) for one unit, it is (units epsilon, delta (e^(units epsilon) - 1) /
  (e^epsilon - 1)) for a group: `units` neighbouring steps, whose deltas grow by e^epsilon each (Vadhan 2017, "The Complexity of
  Differential Privacy", lemma 2.2, with the geometric sum kept). It holds for every mechanism.
"""

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp

from core.dp import gaussian
from core.dp.guarantee import SMALLEST_DELTA, SMALLEST_EPSILON, check_delta
from core.dp.hockey_stick import Floats
from core.dp.loss import epsilon_of_leaves, merge_gaussians
from core.dp.mechanism import (
    DiscreteGaussian,
    Gaussian,
    Laplace,
    Largest,
    Leaf,
    Mechanism,
    PermuteAndFlip,
    PoissonSampled,
    Threshold,
    leaves,
)
from core.dp.renyi import FINE_ORDERS, epsilon_of_rdp, gaussian_rdp, laplace_rdp, pure_rdp, rdp_of_leaves

_ORDERS = np.asarray(FINE_ORDERS)
_MIXTURE_ORDERS = 1 + 2.0 ** np.arange(-4, 6.01, 0.2)
"""Orders at which a mixture is integrated: a group's loss is large, so the best order is small."""
_WIDTH = 12.0
"""Standard deviations of noise beyond the outermost mean that an integral covers."""
_SAFETY = 1 + 1e-9
_ROUNDS = 60
LARGEST_GROUP = 100


def epsilon_of_group(mechanism: Mechanism, units: int, *, delta: float) -> float | None:
    """Return an upper bound on the epsilon of `units` units together (1 to `LARGEST_GROUP`), at `delta`.

    None if the mechanism holds a threshold, whose delta grows with the group: no epsilon is known at the same delta then.

    Raises:
        InvalidGuarantee: `delta` is out of range.
    """
    check_delta(delta)
    assert 1 <= units <= LARGEST_GROUP, "a group that one person could be"
    counts = leaves(mechanism)
    if any(isinstance(leaf, Threshold) for leaf in counts):
        return None
    return _epsilon_of_group(frozenset(counts.items()), units, delta) if counts else 0.0


@lru_cache(maxsize=512)
def _epsilon_of_group(counts: frozenset[tuple[Leaf, int]], units: int, delta: float) -> float:
    runs = dict(sorted(counts, key=repr))
    mu, others = merge_gaussians(runs)
    if not others:
        return max(gaussian.epsilon_of(units * mu, delta), SMALLEST_EPSILON)
    single = _converted(runs, units, math.log(delta))
    remaining = math.log(delta) - _growth(single, units)
    if remaining >= math.log(SMALLEST_DELTA):
        # A smaller epsilon at the same delta of one unit grows less, so it satisfies the condition too.
        single = min(single, epsilon_of_leaves(runs, math.exp(remaining)))
    bounds = [units * single]
    if not any(isinstance(leaf, Largest) for leaf in runs):
        divergences = [count * _rdp_as_one_unit(leaf, units) for leaf, count in runs.items()]
        bounds.append(epsilon_of_rdp(np.sum(divergences, axis=0), _MIXTURE_ORDERS.tolist(), delta))
    return max(min(bounds), SMALLEST_EPSILON)


def _rdp_as_one_unit(leaf: Leaf, units: int) -> Floats:
    """Return the Renyi divergence of one run with the whole group as its unit, at `_MIXTURE_ORDERS`."""
    match leaf:
        case PoissonSampled(sampling_rate=rate, mechanism=inner) if rate < 1:
            return _mixture_rdp(rate, inner.noise_multiplier, units)
        case PoissonSampled(mechanism=inner):
            return gaussian_rdp(inner.noise_multiplier / units, _MIXTURE_ORDERS)
        case Gaussian(noise_multiplier=multiplier) | DiscreteGaussian(noise_multiplier=multiplier):
            # A group shifts several counts of a histogram by integers that add up to at most `units`; Canonne, Kamath and Steinke
            # 2020, proposition 5, has each shift.
            return gaussian_rdp(multiplier / units, _MIXTURE_ORDERS)
        case Laplace(noise_multiplier=multiplier):
            return laplace_rdp(multiplier / units, _MIXTURE_ORDERS)
        case PermuteAndFlip(epsilon=epsilon):
            return pure_rdp(units * epsilon, _MIXTURE_ORDERS)
        case _:
            raise TypeError("members of a group may lie in different parts")


@lru_cache(maxsize=512)
def _mixture_rdp(rate: float, noise_multiplier: float, units: int) -> Floats:
    """Return the larger divergence of both directions between sum_j binom(units, j) rate^j (1 - rate)^(units - j) N(j, sigma^2) and N(0, sigma^2).

    With L the logarithm of the ratio of the densities, the divergences are log E exp(a L) / (a - 1) and log E exp((1 - a) L) / (a - 1)
    under N(0, sigma^2). The integrands are analytic in a strip of half-width pi sigma^2 / units and fall like the normal density, so
    the trapezoidal rule errs by less than exp(-30) of the value.
    """
    variance = noise_multiplier**2
    drawn = np.arange(units + 1)
    logs = np.asarray([math.log(math.comb(units, j)) for j in drawn])
    logs = logs + drawn * math.log(rate) + (units - drawn) * math.log1p(-rate)
    step = min(noise_multiplier / 8, variance / (2 * units))
    reach = units * float(_MIXTURE_ORDERS[-1]) + _WIDTH * noise_multiplier
    points = np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1) * step
    ratio = logsumexp(logs + np.multiply.outer(points, drawn) / variance - drawn**2 / (2 * variance), axis=1)
    normal = (
        -(points**2) / (2 * variance) + math.log(step) - math.log(noise_multiplier * math.sqrt(2 * math.pi))
    )
    both = [
        logsumexp(np.multiply.outer(exponents, ratio) + normal, axis=1) / (_MIXTURE_ORDERS - 1)
        for exponents in (_MIXTURE_ORDERS, 1 - _MIXTURE_ORDERS)
    ]
    return np.asarray(np.maximum(np.maximum(*both), 0.0) * _SAFETY)


def _converted(runs: Mapping[Leaf, int], units: int, log_delta: float) -> float:
    """Return an epsilon of one unit whose converted delta is at most the one of the statement, by the Renyi bound.

    The first guess satisfies the condition, because the growth of delta is at most units e^((units - 1) epsilon). Each round takes
    epsilon at the delta that the guess allows, so it falls and still satisfies it.
    """
    rdp = rdp_of_leaves(runs, FINE_ORDERS)
    constant = rdp + np.log1p(-1 / _ORDERS) - (log_delta + np.log(_ORDERS)) / (_ORDERS - 1)
    large = units < _ORDERS
    allowed = constant[large] + math.log(units) / (_ORDERS[large] - 1)
    epsilon = max(float(np.min(allowed / (1 - (units - 1) / (_ORDERS[large] - 1)))), SMALLEST_EPSILON)
    for _ in range(_ROUNDS):
        lower = float(np.min(constant + _growth(epsilon, units) / (_ORDERS - 1)))
        epsilon = max(min(epsilon, lower), SMALLEST_EPSILON)
    return epsilon


def _growth(epsilon: float, units: int) -> float:
    """Return the logarithm of (e^(units epsilon) - 1) / (e^epsilon - 1)."""
    return (units - 1) * epsilon + math.log(math.expm1(-units * epsilon) / math.expm1(-epsilon))
