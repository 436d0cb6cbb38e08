"""Permute-and-flip is drawn exactly: every path followed with rational probabilities, and frequencies against the distribution.

What is replaced, `bernoulli_exp` and `below`, is proven exact in tests/privacy/laws/test_discrete_exact.py.
"""

import itertools
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from models.randomness import Purpose
from models.selection import choice
from tests.models.coded_tables import streams
from tests.privacy.laws.branching import DIGITS, Path, explore

FALSE_ALARM = 1e-7
"""Of all comparisons of frequencies here together, by the union bound."""


class Told:
    """`below` as an exact question."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def below(self, high: int) -> int:
        return self.path.ask([Decimal(1) / high] * high)


def coin(reader: Told, gamma: Fraction) -> bool:
    with localcontext() as context:
        context.prec = DIGITS
        heads = (-Decimal(gamma.numerator) / Decimal(gamma.denominator)).exp()
        return reader.path.ask([heads, 1 - heads]) == 0


def distribution(errors: tuple[int, ...], epsilon: Fraction) -> list[Decimal]:
    """The closed form: a candidate is taken if no other that met its coin first was."""
    with localcontext() as context:
        context.prec = DIGITS
        heads = [
            (-Decimal(epsilon.numerator) * (count - min(errors)) / Decimal(epsilon.denominator)).exp()
            for count in errors
        ]
        chances = []
        for candidate, own in enumerate(heads):
            others = heads[:candidate] + heads[candidate + 1 :]
            chance = Decimal(0)
            for size in range(len(others) + 1):
                for group in itertools.combinations(others, size):
                    term = Decimal(1)
                    for other in group:
                        term *= -other
                    chance += term / (size + 1)
            chances.append(own * chance)
        return chances


@pytest.mark.parametrize("errors", [(0, 0), (4, 1), (7, 7, 7), (2, 5, 3), (0, 1, 2, 40)], ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(0.3), Fraction(3)], ids=str)
def test_every_path_adds_up_to_the_distribution(
    errors: tuple[int, ...], epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "bernoulli_exp", coin)

    found, left = explore(
        lambda path: choice.permute_and_flip(Told(path), errors, epsilon),  # type: ignore[arg-type]
        limit=Decimal("1e-58"),
    )

    assert left < Decimal("1e-40")
    for candidate, chance in enumerate(distribution(errors, epsilon)):
        assert abs(found.get(candidate, Decimal(0)) - chance) < Decimal("1e-40")


ERRORS, EPSILON, DRAWS = (3, 1, 2, 6), 0.5, 10_000


def frequencies(*, epsilon: float = EPSILON) -> Counter[int]:
    keyed = streams()
    return Counter(
        choice.permute_and_flip(keyed.reader(Purpose.TEST, draw), ERRORS, Fraction(epsilon))
        for draw in range(DRAWS)
    )


def alarms(counts: Counter[int]) -> list[int]:
    """Candidates chosen more or less often than the distribution allows but for a share of `FALSE_ALARM`."""
    rung = []
    for candidate, chance in enumerate(distribution(ERRORS, Fraction(EPSILON))):
        side = FALSE_ALARM / (2 * len(ERRORS))
        low, high = stats.binom.ppf([side, 1 - side], DRAWS, float(chance))
        if not low <= counts[candidate] <= high:
            rung.append(candidate)
    return rung


def test_frequencies_are_the_distributions() -> None:
    assert alarms(frequencies()) == []


@pytest.mark.parametrize("epsilon", [EPSILON / 2, EPSILON * 1.25])
def test_the_alarm_hears_another_epsilon(epsilon: float) -> None:
    assert alarms(frequencies(epsilon=epsilon))


def test_the_alarm_hears_a_fixed_order() -> None:
    class First:
        def __init__(self, draw: int) -> None:
            self._reader = streams().reader(Purpose.TEST, draw)
            self._permuting = True

        def below(self, high: int) -> int:
            permuting, self._permuting = self._permuting, False
            return 0 if permuting else self._reader.below(high)

    counts = Counter(
        choice.permute_and_flip(First(draw), ERRORS, Fraction(EPSILON))  # type: ignore[arg-type]
        for draw in range(DRAWS)
    )

    assert alarms(counts)


def test_the_same_errors_and_key_give_the_same_choice_and_other_keys_another() -> None:
    chosen = [choice.choose((2, 2, 2), epsilon=1.0, streams=streams(number)) for number in range(40)]

    assert chosen == [choice.choose((2, 2, 2), epsilon=1.0, streams=streams(number)) for number in range(40)]
    assert set(chosen) == {0, 1, 2}


def test_only_differences_of_errors_matter_and_many_errors_take_no_longer() -> None:
    for number in range(30):
        small = choice.choose((5, 3, 9), epsilon=0.2, streams=streams(number))
        assert choice.choose((10**9 + 5, 10**9 + 3, 10**9 + 9), epsilon=0.2, streams=streams(number)) == small


def test_with_a_large_epsilon_the_fewest_errors_win() -> None:
    assert all(choice.choose((3, 2, 4), epsilon=100.0, streams=streams(n)) == 1 for n in range(50))


def test_it_helps_more_than_the_exponential_mechanism() -> None:
    """Expected errors above the fewest, both at pure epsilon 0.5 for counts that only rise (the paper's theorem 3)."""
    chances = np.asarray([float(chance) for chance in distribution(ERRORS, Fraction(EPSILON))])
    exponential = np.exp(-EPSILON * np.asarray(ERRORS, dtype=np.float64))

    assert chances @ ERRORS < exponential / exponential.sum() @ ERRORS
