"""Chernoff's bounds hold the tails of real sums, and halving finds the same slope as trying all."""

import math

import numpy as np
import pytest

# private: slopes and moments are compared with a slow bound, one by one
from understudy.verifying.chernoff import _SLOPES, Rounded, _best, _Moments, best_order, window

TAILS = (1e-2, 1e-6, 1e-15)


def distribution(seed: int, *, size: int, lowest: int, count: int) -> Rounded:
    probabilities = np.random.default_rng(seed).exponential(size=size) ** 3
    return Rounded(lowest=lowest, probabilities=probabilities / probabilities.sum(), shift=0.0, count=count)


SUMS = {
    "one run": [distribution(1, size=400, lowest=-50, count=1)],
    "many runs": [distribution(2, size=31, lowest=-12, count=300)],
    "two distributions": [
        distribution(3, size=200, lowest=-90, count=7),
        distribution(4, size=60, lowest=3, count=2),
    ],
    "blocks": [distribution(5, size=70_000, lowest=-20_000, count=2)],
    "one point": [Rounded(lowest=5, probabilities=np.ones(1), shift=0.0, count=4)],
}


def summed(singles: list[Rounded]) -> tuple[int, np.ndarray]:
    """The distribution of the sum itself, by convolution."""
    made, lowest = np.ones(1), 0
    for one in singles:
        for _ in range(one.count):
            made, lowest = np.convolve(made, one.probabilities), lowest + one.lowest
    return lowest, made


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("singles", SUMS.values(), ids=SUMS.keys())
@pytest.mark.parametrize("side", [1, -1])
def test_halving_finds_the_smallest_bound_of_all_slopes(
    singles: list[Rounded], tail: float, side: int
) -> None:
    moments, slopes = _Moments(singles), side * _SLOPES
    found, smallest = _best(moments, slopes, tail)
    bounds = [(moments.bound(float(slope)) - math.log(tail)) / abs(slope) for slope in slopes]
    assert smallest == min(bounds)
    assert bounds[found] == smallest


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("name", ["one run", "many runs", "two distributions", "one point"])
def test_the_sum_leaves_the_window_with_at_most_the_tail_on_either_side(name: str, tail: float) -> None:
    lowest, probabilities = summed(SUMS[name])
    low, high = window(SUMS[name], tail=tail)
    index = np.arange(len(probabilities)) + lowest
    assert probabilities[index < low].sum() <= tail
    assert probabilities[index > high].sum() <= tail
    assert best_order(SUMS[name], tail) > 0
