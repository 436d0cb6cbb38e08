"""The exact samplers are exact: every path of each is followed, with rational probabilities, to 1e-23.

From the bottom: `below` over all bit strings; `bernoulli_exp` with an exact `below`; the discrete Laplace with an
exact `bernoulli_exp`; the discrete Gaussian with both. What is replaced at each level was proven at the one below.
No false alarm: nothing is random here. (Laws: Canonne, Kamath and Steinke 2020, definitions 1 and 9.)
"""

from collections import Counter
from collections.abc import Callable, Hashable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from models.dp import discrete
from models.randomness import KeyedStreams, KeystreamReader, Purpose
from tests.privacy.laws.alarm import alarm
from tests.privacy.laws.branching import DIGITS, Again, Path, accepted, explore
from tests.privacy.laws.planned import KEY

LIMIT = Decimal("1e-28")
CLOSE = Decimal("1e-23")


class Bytes(KeystreamReader):
    """A reader that serves told bytes, and ends where it would draw again."""

    def __init__(self, served: bytes) -> None:
        super().__init__(KEY, bytes(12))
        self._served = served

    def take(self, count: int) -> bytes:
        if count and not self._served:
            raise Again
        first, self._served = self._served[:count], self._served[count:]
        return first


@pytest.mark.parametrize("high", [1, 2, 3, 5, 7, 8, 100, 127, 128, 129, 255, 256])
def test_below_is_uniform_over_all_bytes(high: int) -> None:
    require_even(high, [bytes([value]) for value in range(256)])


@pytest.mark.parametrize("high", [257, 300, 1000, 2**15 + 1, 2**16])
def test_below_is_uniform_over_all_pairs_of_bytes(high: int) -> None:
    require_even(high, [value.to_bytes(2, "little") for value in range(2**16)])


def require_even(high: int, strings: list[bytes]) -> None:
    counts: Counter[int] = Counter()
    for string in strings:
        try:
            counts[Bytes(string).below(high)] += 1
        except Again:
            continue
    assert sorted(counts) == list(range(high))
    assert len(set(counts.values())) == 1, "every number has as many strings"
    assert sum(counts.values()) * 2 >= len(strings), "at most half draw again"


class Below:
    """`below` as exact questions; beginning anew is told by the name of the first question."""

    def __init__(self, path: Path, *, first: int | None = None) -> None:
        self.path = path
        self._first = first
        self._begun = False

    def below(self, high: int) -> int:
        if high == self._first:
            if self._begun:
                raise Again
            self._begun = True
        return self.path.ask([Decimal(1) / high] * high)


@cache
def exponential(gamma: Fraction) -> Decimal:
    """`exp(-gamma)` to 60 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        return (-Decimal(gamma.numerator) / Decimal(gamma.denominator)).exp()


def coin(reader: Below, gamma: Fraction) -> bool:
    """What `bernoulli_exp` was proven to be."""
    heads = exponential(gamma)
    return reader.path.ask([heads, 1 - heads]) == 0


class Compared:
    """A number below `high` of which only one comparison is asked: two answers instead of `high`."""

    def __init__(self, path: Path, high: int) -> None:
        self._path, self._high = path, high

    def __lt__(self, limit: int) -> bool:
        share = Decimal(min(limit, self._high)) / self._high
        return self._path.ask([share, 1 - share]) == 0


class ComparedBelow:
    """`below` for samplers that compare and never look."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def below(self, high: int) -> Compared:
        return Compared(self._path, high)


def close(found: dict[Hashable, Decimal], law: Callable[[int], Decimal], reach: int) -> bool:
    """Whether the outcomes up to `reach` have the law's probabilities to 1e-23."""
    return all(abs(found.get(x, Decimal(0)) - law(x)) < CLOSE for x in range(-reach, reach + 1))


GAMMAS = [
    Fraction(0),
    Fraction(1, 7),
    Fraction(1, 2),
    Fraction(1),
    Fraction(5, 2),
    Fraction(0.3),
    Fraction(22, 7),
]


@pytest.mark.parametrize("gamma", GAMMAS, ids=str)
def test_the_coin_of_an_exponential_is_exact(gamma: Fraction) -> None:
    assert coin_error(discrete.bernoulli_exp, gamma) < CLOSE


def coin_error(sampler: Callable[..., bool], gamma: Fraction) -> Decimal:
    found, left = explore(lambda path: sampler(ComparedBelow(path), gamma), limit=LIMIT)
    assert left < CLOSE / 10
    with localcontext() as context:
        context.prec = DIGITS
        return abs(found.get(True, Decimal(0)) - exponential(gamma))


def laplace_of(scale: int) -> dict[Hashable, Decimal]:
    """The exact law of `discrete_laplace`, its coins exact; the question `below(scale)` begins every attempt."""
    found, left = explore(
        lambda path: discrete.discrete_laplace(Below(path, first=scale), scale), limit=LIMIT
    )
    assert left < CLOSE / 10
    return accepted(found)


def laplace_law(scale: int) -> Callable[[int], Decimal]:
    with localcontext() as context:
        context.prec = DIGITS
        p = exponential(Fraction(1, scale))
        return lambda x: (1 - p) / (1 + p) * p ** abs(x)


@pytest.mark.parametrize("scale", [3, 4, 7])
def test_the_discrete_laplace_is_exact(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete, "bernoulli_exp", coin)
    found = laplace_of(scale)
    with localcontext() as context:
        context.prec = DIGITS
        assert close(found, laplace_law(scale), 40 * scale)


@pytest.mark.parametrize("scale", [1, 2])
def test_the_smallest_scales_are_exact_too(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `below(scale)` and the sign are one question, beginning anew is told by the length of the path."""
    monkeypatch.setattr(discrete, "bernoulli_exp", coin)
    found, left = explore(lambda path: discrete.discrete_laplace(Below(path), scale), limit=Decimal("1e-6"))
    law = laplace_law(scale)
    assert left < Decimal("0.01")
    for x in range(-12, 13):
        assert law(x) - left <= found.get(x, Decimal(0)) <= law(x), "no outcome has more than its law"


@cache
def laplace_table(scale: int) -> list[Decimal]:
    """The law of -80 scale .. 80 scale; what lies beyond is below 1e-34."""
    law = laplace_law(scale)
    with localcontext() as context:
        context.prec = DIGITS
        return [law(x) for x in range(-80 * scale, 80 * scale + 1)]


@cache
def gaussian_of(noise_std: float) -> dict[Hashable, Decimal]:
    """The exact law of `discrete_gaussian`: its candidates by the exact Laplace law up to `reach`, its coins exact."""
    variance = Fraction(noise_std) ** 2

    def candidate(reader: Below, scale: int) -> int:
        if reader.path.answers:
            raise Again
        law = laplace_table(scale)
        return reader.path.ask(law) - len(law) // 2

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discrete, "bernoulli_exp", coin)
        patch.setattr(discrete, "discrete_laplace", candidate)
        found, left = explore(lambda path: discrete.discrete_gaussian(Below(path), variance), limit=LIMIT)
    assert left < CLOSE / 10
    return accepted(found)


def gaussian_law(noise_std: float) -> Callable[[int], Decimal]:
    with localcontext() as context:
        context.prec = DIGITS
        twice = 2 * Fraction(noise_std) ** 2
        reach = int(40 * noise_std) + 40
        weights = {x: exponential(Fraction(x * x) / twice) for x in range(-reach, reach + 1)}
        total = sum(weights.values())
        return lambda x: weights[x] / total


STDS = [0.3, 0.7, 1.0, 1.5, 2.7, 6.25]


@pytest.mark.parametrize("noise_std", STDS)
def test_the_discrete_gaussian_is_exact(noise_std: float) -> None:
    with localcontext() as context:
        context.prec = DIGITS
        assert close(gaussian_of(noise_std), gaussian_law(noise_std), int(11 * noise_std))


def shifted(reader, gamma: Fraction) -> bool:
    return coin(reader, gamma * Fraction(1001, 1000))


def test_a_wrong_coin_inside_the_samplers_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete, "bernoulli_exp", shifted)
    with localcontext() as context:
        context.prec = DIGITS
        assert not close(laplace_of(7), laplace_law(7), 20)


def biased_coin(reader, gamma: Fraction) -> bool:
    """One comparison off by one in a thousand."""
    return discrete.bernoulli_exp(reader, gamma + Fraction(1, 1000))


def test_a_coin_off_by_a_thousandth_is_detected() -> None:
    assert coin_error(biased_coin, Fraction(1, 7)) > Decimal("1e-4")


def test_a_shifted_or_narrow_gaussian_is_detected() -> None:
    found, law = gaussian_of(1.5), gaussian_law(1.5)
    shifted_by_one = {x + 1: p for x, p in found.items() if isinstance(x, int)}
    assert not close(shifted_by_one, law, 10)
    assert not close(found, gaussian_law(1.5 * 1.015), 10)


COUNT = 6000


def judge_draws(drawn: np.ndarray, noise_std: float) -> list[str]:
    """Chi-square over the bulk and the two tails, against the exact table."""
    judge, law = alarm("discrete noise", 1, cases=3), gaussian_law(noise_std)
    reach = int(3 * noise_std) + 1
    shares = np.array([float(law(x)) for x in range(-reach, reach + 1)])
    shares[[0, -1]] += (1 - shares.sum()) / 2
    counts = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=2 * reach + 1)
    statistic = float(((counts - len(drawn) * shares) ** 2 / (len(drawn) * shares)).sum())
    judge.below("frequencies", statistic, float(stats.chi2(2 * reach).isf(judge.side)))
    return judge.rung


def draws(noise_std: float) -> np.ndarray:
    return discrete.discrete_gaussians(
        KeyedStreams(KEY), Purpose.LABEL_NOISE, 0, noise_std=noise_std, count=COUNT
    )


@pytest.mark.parametrize("noise_std", [1.3, 9.0, 40.0])
def test_draws_from_the_stream_follow_the_table(noise_std: float) -> None:
    assert judge_draws(draws(noise_std), noise_std) == []


@pytest.mark.parametrize("noise_std", [1.3, 9.0])
def test_draws_shifted_or_of_another_width_are_detected(noise_std: float) -> None:
    right = draws(noise_std)
    assert judge_draws(right + (np.arange(COUNT) % 2 if noise_std < 2 else 2), noise_std)
    assert judge_draws(right, noise_std * 1.1)
    assert judge_draws(right, noise_std / 1.1)
