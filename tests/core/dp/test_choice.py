"""Permute-and-flip: its distribution by enumeration, its pure epsilon over all neighbours, and what breaks without its conditions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from core.dp.accountant import epsilons, rdp_at
from core.dp.errors import InvalidMechanism
from core.dp.gaussian import log_delta
from core.dp.mechanism import Composed, PermuteAndFlip, Repeated
from tests.core.dp.builders import gaussian


def choice(epsilon: float, candidates: int = 2) -> PermuteAndFlip:
    return PermuteAndFlip(epsilon=epsilon, candidates=candidates)


def distribution(errors: tuple[int, ...], epsilon: float) -> list[float]:
    """Every order of the candidates, every coin (McKenna and Sheldon 2020, algorithm 1)."""
    heads = [math.exp(-epsilon * (count - min(errors))) for count in errors]
    chances = [0.0] * len(errors)
    orders = list(itertools.permutations(range(len(errors))))
    for order in orders:
        reached = 1.0 / len(orders)
        for candidate in order:
            chances[candidate] += reached * heads[candidate]
            reached *= 1 - heads[candidate]
    return chances


def noisy_distribution(errors: tuple[int, ...], epsilon: float) -> list[float]:
    """The fewest errors less exponential noise, integrated: the other form of the distribution, which the proof uses."""
    noise = np.linspace(0, 40 / epsilon, 200_001)
    density = epsilon * np.exp(-epsilon * noise)
    chances = []
    for candidate, count in enumerate(errors):
        beaten = np.ones_like(noise)
        for other, others in enumerate(errors):
            if other != candidate:
                beaten *= -np.expm1(-epsilon * np.maximum(noise - count + others, 0))
        chances.append(float(np.trapezoid(density * beaten, noise)))
    return chances


@pytest.mark.parametrize("errors", [(0, 0), (3, 1), (2, 5, 2), (0, 1, 2, 3)])
def test_the_coins_and_the_exponential_noise_have_one_distribution(errors: tuple[int, ...]):
    assert distribution(errors, 0.7) == pytest.approx(noisy_distribution(errors, 0.7), abs=1e-6)
    assert sum(distribution(errors, 0.7)) == pytest.approx(1, abs=1e-12)


def largest_loss(candidates: int, epsilon: float, changes: list[int]) -> float:
    losses = [
        abs(math.log(one / other))
        for errors in itertools.product(range(5), repeat=candidates)
        for added in itertools.product(changes, repeat=candidates)
        for one, other in zip(
            distribution(errors, epsilon),
            distribution(tuple(a + b for a, b in zip(errors, added, strict=True)), epsilon),
            strict=True,
        )
    ]
    return max(losses)


@pytest.mark.parametrize("candidates", [2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_one_unit_more_changes_no_chance_by_more_than_epsilon(candidates: int, epsilon: float):
    largest = largest_loss(candidates, epsilon, [0, 1])

    assert largest <= epsilon * (1 + 1e-12)
    assert largest > 0.95 * epsilon or epsilon > 1  # the bound is nearly met: no factor is given away


def test_where_a_unit_may_take_errors_away_too_the_missing_half_shows():
    # One unit replaced by another: no count is changed by more than one, but not all in one direction.
    assert largest_loss(2, 1.0, [-1, 0, 1]) > 1.5


def test_alone_it_costs_its_pure_epsilon_less_what_delta_covers():
    for epsilon, delta in itertools.product([0.01, 0.5, 4.0], [1e-9, 1e-3]):
        exact = math.log(math.exp(epsilon) - delta * (1 + math.exp(epsilon)))

        assert exact <= epsilons(choice(epsilon), delta=delta).pld <= max(exact, 0) * 1.01 + 1e-6
        assert choice(epsilon).epsilon <= epsilons(choice(epsilon), delta=delta).rdp * 1.2 + 1e-3


@pytest.mark.parametrize("epsilon", [0.2, 1.2])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_composed_with_a_gaussian_it_is_the_mixture_of_two_shifts(epsilon: float, delta: float):
    mu = 1 / 3
    up = math.exp(epsilon) / (1 + math.exp(epsilon))

    def exact_delta(at: float) -> float:
        return up * math.exp(log_delta(mu, at - epsilon)) + (1 - up) * math.exp(log_delta(mu, at + epsilon))

    ours = epsilons(Composed(parts=(gaussian(3.0), choice(epsilon))), delta=delta).pld

    assert exact_delta(ours) <= delta * (1 + 1e-9)
    assert exact_delta(ours * (1 - 1e-3)) > delta


def test_several_choices_are_the_binomial_sum_of_their_losses():
    up = math.exp(0.8) / (1 + math.exp(0.8))
    chances = [math.comb(6, k) * up**k * (1 - up) ** (6 - k) for k in range(7)]

    def exact_delta(at: float) -> float:
        losses = [0.8 * (2 * k - 6) for k in range(7)]
        return sum(-p * math.expm1(min(at - loss, 0.0)) for p, loss in zip(chances, losses, strict=True))

    ours = epsilons(Repeated(mechanism=choice(0.8), count=6), delta=1e-5).pld

    assert exact_delta(ours) <= 1e-5
    assert exact_delta(ours - 0.02) > 1e-5


@pytest.mark.parametrize("epsilon", [0.005, 0.3, 2.0, 20.0])
def test_its_divergence_is_randomised_responses(epsilon: float):
    up = 1 / (1 + math.exp(-epsilon))
    down = 1 - up if epsilon < 10 else math.exp(-epsilon) * up
    for order in (2, 6, 32):
        log_sum = math.log(
            (up / down) ** (order - 1) * up + (down / up) ** (order - 1) * down
        )  # E under the first distribution
        assert rdp_at(choice(epsilon), (order,))[0] >= log_sum / (order - 1) * (1 - 1e-12)
        assert rdp_at(choice(epsilon), (order,))[0] <= min(order * epsilon**2 / 2, epsilon)


@pytest.mark.parametrize(
    ("epsilon", "candidates"), [(0.0, 2), (math.nan, 2), (math.inf, 2), (101.0, 2), (1.0, 1), (1.0, 65)]
)
def test_a_choice_that_is_none_is_refused(epsilon: float, candidates: int):
    with pytest.raises(InvalidMechanism):
        choice(epsilon, candidates)


def test_rationals_agree_with_the_enumeration():
    # Coins of one half and one quarter, by hand: candidate 0 leads by 1 over 1 and by 2 over 2 at epsilon log 2.
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    leader = 1 - half * half - quarter * half + half * quarter * Fraction(1, 3)
    assert distribution((0, 1, 2), math.log(2))[0] == pytest.approx(float(leader), abs=1e-12)
