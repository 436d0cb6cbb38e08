"""The promise across jobs, against an adversary who sees everything and picks each budget afterwards; computed exactly.

The naive rule (stop when the exact composition of what was chosen would exceed the cap, as a recomputed loss distribution would)
is the must-fail example: the best adversary gets up to 1.7 times the delta of the cap out of it.
"""

import math
from collections.abc import Callable

import pytest

from core.dp.charge import MICRO, ORDERS
from core.dp.filters import AdmissionRule, Cap, admit
from tests.core.dp.adversary import (
    Counts,
    Response,
    charged,
    fixed_delta,
    largest_delta,
    largest_delta_of_stopped,
    settled_prefix,
)

SMALL_AND_LARGE = [Response(1), Response(3)]
THREE = [Response(1), Response(2), Response(5)]
LEAKING = [Response(1), Response(4), Response(2, leak=0.004)]
GAMES = [
    # offers, unit, epsilon and delta of the cap
    (SMALL_AND_LARGE, 0.25, 3.0, 0.05),
    (THREE, 0.2, 2.0, 0.02),
    (LEAKING, 0.2, 2.0, 0.05),
    ([Response(1), Response(10)], 0.1, 1.0, 0.1),
    ([Response(1), Response(1, leak=0.01), Response(2, leak=0.02)], 0.3, 2.0, 0.1),
]  # fmt: skip


def under(cap: Cap, offers: list[Response], unit: float) -> Callable[[Counts], bool]:
    return lambda counts: admit(cap, [charged(offers, counts, unit)]).admitted


def exact_rule(offers: list[Response], unit: float, epsilon: float, delta: float) -> Callable[[Counts], bool]:
    """Run on while the exact composition of what was chosen is within the cap, as if it had been fixed beforehand."""
    return lambda counts: fixed_delta(offers, counts, unit=unit, epsilon=epsilon) <= delta


@pytest.mark.parametrize("rule", AdmissionRule)
@pytest.mark.parametrize(("offers", "unit", "epsilon", "delta"), GAMES)
def test_no_adaptive_choice_of_budgets_gets_more_than_the_cap(
    offers: list[Response], unit: float, epsilon: float, delta: float, rule: AdmissionRule
):
    cap = Cap(epsilon=epsilon, delta=delta, rule=rule)

    worst = largest_delta(offers, under(cap, offers, unit), unit=unit, epsilon=epsilon)

    assert worst <= delta * (1 + 1e-12)


def test_the_games_use_the_renyi_filters_and_gain_from_them():
    cap = Cap(epsilon=3.0, delta=0.05, rule=AdmissionRule.FILTERS)

    many = admit(cap, [charged(SMALL_AND_LARGE, (13, 0), 0.25)])

    assert many.admitted
    assert not many.holds["basic"]
    assert largest_delta(SMALL_AND_LARGE, under(cap, SMALL_AND_LARGE, 0.25), unit=0.25, epsilon=3.0) > 0


@pytest.mark.parametrize(("offers", "unit", "epsilon", "delta"), GAMES[:4])
def test_recomputing_the_exact_composition_is_no_stopping_rule(
    offers: list[Response], unit: float, epsilon: float, delta: float
):
    naive = exact_rule(offers, unit, epsilon, delta)

    worst = largest_delta(offers, naive, unit=unit, epsilon=epsilon)

    assert worst > 1.25 * delta
    # Each fixed choice that it ends at is within the cap: only the choosing is not paid for.
    assert naive((1, 0) if len(offers) == 2 else (1, 0, 0))


def test_a_planted_filter_without_its_share_of_delta_is_caught():
    # Divergence at order 8 against epsilon itself, as if a divergence were an epsilon.
    def planted(counts: Counts) -> bool:
        amounts = charged(SMALL_AND_LARGE, counts, 0.1).rdp_micros
        return amounts[ORDERS.index(4)] <= 1.0 * MICRO

    assert largest_delta(SMALL_AND_LARGE, planted, unit=0.1, epsilon=1.0) > 0.05


def test_the_programme_is_the_fixed_composition_where_nothing_can_be_chosen():
    offers = [Response(1)]
    worst = largest_delta(offers, lambda counts: counts[0] <= 12, unit=0.3, epsilon=0.8)

    # More runs never lower delta, so the best is to run all twelve.
    assert worst == pytest.approx(fixed_delta(offers, (12,), unit=0.3, epsilon=0.8), rel=1e-12)


def test_a_leak_is_charged_and_found():
    offers = [Response(1, leak=0.01)]
    worst = largest_delta(offers, lambda counts: counts[0] <= 3, unit=0.1, epsilon=1.0)

    assert worst == pytest.approx(1 - 0.99**3, rel=1e-12)
    assert charged(offers, (3,), 0.1).delta_femtos == 3 * 10**13


def test_a_cap_that_outputs_change_keeps_its_ceiling_and_no_more():
    """One response of epsilon 1; where it says yes, one of 3 follows. A cap of 1 raised to 4 by a yes, or of 4 lowered to 1 by a no."""
    offers, small, ceiling = [Response(1), Response(3)], 1.0, 4.0
    caps = [Cap(epsilon=epsilon, delta=1e-6, rule=AdmissionRule.BASIC) for epsilon in (small, ceiling)]
    once, twice = charged(offers, (1, 0), 1.0), charged(offers, (1, 1), 1.0)
    assert [admit(cap, [once]).admitted for cap in caps] == [True, True]
    assert [admit(cap, [twice]).admitted for cap in caps] == [False, True]

    first, second = (offer.rises(1.0) for offer in offers)
    # Probability of each transcript with the unit and without it, and which cap is the last.
    transcripts = [
        (1 - first, first, small),
        (first * second, (1 - first) * (1 - second), ceiling),
        (first * (1 - second), (1 - first) * second, ceiling),
    ]

    def delta(epsilon: float, last: float | None = None) -> float:
        pairs = [(p, q) for p, q, cap in transcripts if last in {None, cap}]
        either = [*pairs, *((q, p) for p, q in pairs)]
        return max(
            math.fsum(max(p - math.exp(epsilon) * q, 0.0) for p, q in directed)
            for directed in (pairs, either[len(pairs) :])
        )

    assert delta(ceiling) < 1e-12, "the ceiling's promise holds for everything"
    assert delta(small) == pytest.approx(0.66, abs=0.005), "the smaller cap's does not, first or last"
    assert delta(small, last=small) < 1e-12, "on the part where it is the last cap it does"
    assert delta(ceiling, last=ceiling) < 1e-12


STOPPED_ROUNDS, STOPPED_UNIT = 60, 0.2


@pytest.mark.parametrize("rule", AdmissionRule)
@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("more", [0.0, 1.0])
def test_a_job_that_shows_its_rounds_and_is_stopped_keeps_its_epsilon(
    rule: AdmissionRule, delta: float, more: float
):
    """The adversary stops at a large loss, and spends what the prefix gives back. Divergences of rounds add up at any stopping time, epsilons at a delta do not."""
    whole = settled_prefix(STOPPED_ROUNDS, unit=STOPPED_UNIT, delta=delta)
    share = 1 if rule is AdmissionRule.BASIC else 2
    cap = Cap(epsilon=whole.epsilon_micros / MICRO + more, delta=share * delta, rule=rule)

    def worst(pair_of: int | None) -> float:
        return largest_delta_of_stopped(
            STOPPED_ROUNDS,
            lambda rounds: settled_prefix(rounds, unit=STOPPED_UNIT, delta=delta, pair_of=pair_of),
            lambda job, response: admit(cap, [job, response]).admitted,
            unit=STOPPED_UNIT,
            epsilon=cap.epsilon,
            parts=20,
        )

    assert worst(pair_of=STOPPED_ROUNDS) <= cap.delta * (1 + 1e-9)
    assert worst(pair_of=None) > 1.1 * cap.delta, "the epsilon of the prefix is not enough"
