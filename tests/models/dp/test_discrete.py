import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from models.dp.discrete import bernoulli_exp, discrete_gaussians, discrete_laplace
from models.randomness import KeyedStreams, Purpose

STREAMS = KeyedStreams(bytes(range(32)))


def table(noise_std: float, reach: int) -> dict[int, float]:
    weights = {x: math.exp(-(x**2) / (2 * noise_std**2)) for x in range(-12 * reach, 12 * reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def pvalue(drawn: list[int], distribution: dict[int, float], reach: int) -> float:
    """Chi-square on -reach..reach with both tails as one bin each."""
    n = len(drawn)
    clipped = np.clip(drawn, -reach, reach)
    observed = [int((clipped == x).sum()) for x in range(-reach, reach + 1)]
    expected = [n * distribution[x] for x in range(-reach, reach + 1)]
    for end, sign in ((0, -1), (-1, 1)):
        expected[end] = n * math.fsum(p for x, p in distribution.items() if sign * x >= reach)
    return float(stats.chisquare(observed, expected).pvalue)


@pytest.mark.parametrize(("noise_std", "reach"), [(0.4, 1), (1.0, 3), (2.7, 7), (15.0, 40)])
def test_the_distribution_is_the_exact_discrete_gaussian(noise_std: float, reach: int) -> None:
    # False alarm 1e-6.
    drawn = discrete_gaussians(STREAMS, Purpose.TEST, 1, noise_std=noise_std, count=8000).tolist()
    assert pvalue(drawn, table(noise_std, reach), reach) > 1e-6


def test_discrete_laplace_distribution() -> None:
    reader, scale, reach = STREAMS.reader(Purpose.TEST, 2), 3, 9
    drawn = [discrete_laplace(reader, scale) for _ in range(15_000)]
    p = math.exp(-1 / scale)
    distribution = {x: (1 - p) / (1 + p) * p ** abs(x) for x in range(-200, 201)}
    assert pvalue(drawn, distribution, reach) > 1e-6


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(5, 2)])
def test_bernoulli_of_an_exponential(gamma: Fraction) -> None:
    reader = STREAMS.reader(Purpose.TEST, 3)
    heads = sum(bernoulli_exp(reader, gamma) for _ in range(15_000))
    distribution = stats.binom(15_000, math.exp(-gamma))
    assert distribution.ppf(5e-7) <= heads <= distribution.isf(5e-7)


def test_the_noise_replays() -> None:
    first = discrete_gaussians(STREAMS, Purpose.TEST, 4, noise_std=5.0, count=50)
    assert np.array_equal(first, discrete_gaussians(STREAMS, Purpose.TEST, 4, noise_std=5.0, count=50))
    assert not np.array_equal(first, discrete_gaussians(STREAMS, Purpose.TEST, 5, noise_std=5.0, count=50))


@pytest.mark.parametrize("noise_std", [0.0, -1.0, math.inf, math.nan])
def test_noise_is_positive_and_finite(noise_std: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        discrete_gaussians(STREAMS, Purpose.TEST, 1, noise_std=noise_std, count=1)
