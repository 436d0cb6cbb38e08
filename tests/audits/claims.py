"""What a plan's accountant allows any test to achieve: the trade-off curve of the claim."""

import math

import numpy as np

from core.dp.accountant import epsilons
from core.dp.mechanism import DiscreteGaussian, Mechanism
from core.plan.plan import Plan
from tests.audits.bounds import Floats

DELTAS = (
    1e-9,
    1e-6,
    1e-4,
    1e-3,
    3e-3,
    0.01,
    0.02,
    0.04,
    0.07,
    0.1,
    0.15,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.85,
    0.9,
    0.94,
    0.97,
)
"""Points of the privacy profile that the curve is made of."""


def profile(mechanism: Mechanism) -> dict[float, float]:
    """Epsilon by delta, as the product's accountant states it."""
    return {delta: epsilons(mechanism, delta=delta).reported for delta in DELTAS}


def largest_power(by_delta: dict[float, float], alarms: Floats) -> Floats:
    """The largest share of present canaries that any test may find at each false alarm rate.

    Every (epsilon, delta) allows `power <= exp(epsilon) alarm + delta` and
    `power <= 1 - exp(-epsilon) (1 - delta - alarm)`; the least of all bounds holds.
    """
    bounds = [np.ones_like(alarms)]
    for delta, epsilon in by_delta.items():
        bounds += [
            math.exp(epsilon) * alarms + delta,
            1.0 - math.exp(-epsilon) * (1.0 - delta - alarms),
        ]
    return np.min(bounds, axis=0)


def audited_mechanism(plan: Plan) -> Mechanism:
    """All that the plan charges; of a plan with a label histogram the histogram alone, which is audited alone."""
    if plan.label_histogram is not None:
        return DiscreteGaussian(noise_multiplier=plan.label_histogram.noise_multiplier)
    return plan.mechanism
