"""The noise of parts with a fixed share of the budget, recomputed from the guarantee alone."""

import math
from functools import lru_cache

from understudy.verifying.loss import gaussian_epsilon

LABEL_SHARE = 0.02
"""The label histogram's public share of squared mu."""


def anchor_noise(epsilon: float, delta: float, *, share: float) -> float:
    """The noise multiplier of one Gaussian with a given share of the guarantee's squared mu."""
    return 1 / (_largest_mu(epsilon, delta) * math.sqrt(share))


def label_noise(epsilon: float, delta: float, *, rest: float = 1.0) -> float:
    """The noise multiplier of the label histogram; `rest` is the share left by learning the domain."""
    return anchor_noise(epsilon, delta, share=LABEL_SHARE * rest)


@lru_cache(maxsize=256)
def _largest_mu(epsilon: float, delta: float) -> float:
    low, high = 0.0, 1.0
    while gaussian_epsilon(high, delta) <= epsilon:
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_epsilon(middle, delta) <= epsilon else (low, middle)
    return low
