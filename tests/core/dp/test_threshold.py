"""Thresholds under which names stay unpublished: what they take of delta, and that no Renyi filter has room for them."""

import math

import pytest

from core.dp import gaussian
from core.dp.accountant import epsilons, rdp_at
from core.dp.charge import ORDERS, UNBOUNDED_MICROS, charge_of
from core.dp.errors import InvalidGuarantee, InvalidMechanism
from core.dp.filters import AdmissionRule, Cap, admit
from core.dp.mechanism import Composed, Gaussian, Mechanism, Parallel, Threshold, from_json, to_json

DELTA = 1e-6
NOISE = 4.5


def job(*deltas: float, noise: float = NOISE) -> Mechanism:
    return Composed(parts=(Gaussian(noise_multiplier=noise), *(Threshold(delta=delta) for delta in deltas)))


def test_thresholds_take_their_delta_before_the_noise_is_accounted():
    found = epsilons(job(1e-7, 2e-7), delta=DELTA)

    assert found == epsilons(job(), delta=DELTA - math.fsum([1e-7, 2e-7]))
    assert found.reported > epsilons(job(), delta=DELTA).reported


@pytest.mark.parametrize("taken", [DELTA, 2 * DELTA, DELTA - 1e-13])
def test_thresholds_that_leave_no_delta_have_no_epsilon(taken: float):
    with pytest.raises(InvalidGuarantee):
        epsilons(job(taken), delta=DELTA)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("noise", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("taken", [1e-9, 1e-6, 1e-3, 0.2])
def test_what_a_threshold_takes_covers_both_directions(epsilon: float, noise: float, taken: float):
    """A name of one unit passes with probability q, independently of the rest: both hockey-sticks, in closed form.

    With the unit, the distribution is (1 - q) Q + q R, R on transcripts that name it; without it P; P and Q are a Gaussian pair.
    """

    def delta(at: float) -> float:
        # Below zero by the identity of the two directions: delta(-e) = 1 - exp(-e) + exp(-e) delta(e).
        stick = math.exp(gaussian.log_delta(1 / noise, abs(at)))
        return stick if at >= 0 else -math.expm1(at) + math.exp(at) * stick

    q = -math.expm1(-taken)
    with_the_unit_first = q + (1 - q) * delta(epsilon)
    without_it_first = delta(epsilon + math.log1p(-q))

    promised = delta(epsilon) + taken
    assert with_the_unit_first <= promised * (1 + 1e-9)
    assert without_it_first <= promised * (1 + 1e-9)
    assert max(with_the_unit_first, without_it_first) > delta(epsilon) + 0.05 * taken


def test_no_renyi_divergence_covers_a_threshold():
    assert all(math.isinf(amount) for amount in rdp_at(job(1e-9), (2, 8.5, 32)))
    assert charge_of(job(1e-9), delta=DELTA).rdp_micros == (UNBOUNDED_MICROS,) * len(ORDERS)


def test_a_population_with_a_threshold_is_carried_by_basic_from_then_on():
    plain, learning = charge_of(job(), delta=DELTA), charge_of(job(1e-9), delta=DELTA)
    cap = Cap(epsilon=2.2, delta=1e-5, rule=AdmissionRule.FILTERS)

    assert admit(cap, [plain] * 2).carried_by != "basic"
    assert admit(cap, [plain, learning]).holds == {"basic": True} | {
        f"rdp-{order}": False for order in ORDERS
    }
    assert admit(cap, [plain] * 3).admitted
    assert not admit(cap, [plain, plain, learning]).admitted


def test_no_cap_is_large_enough_for_a_divergence_without_bound():
    learning = charge_of(job(1e-9), delta=DELTA)
    huge = Cap(epsilon=1e300, delta=1e-7, rule=AdmissionRule.FILTERS)

    # Basic has too little delta, and no other filter may stand in for it.
    assert not admit(huge, [learning]).admitted


def test_a_threshold_survives_json_and_is_no_part_of_a_choice():
    assert from_json(to_json(job(1e-9))) == job(1e-9)
    with pytest.raises(InvalidMechanism):
        Parallel(parts=(job(1e-9), job()))
    with pytest.raises(InvalidMechanism):
        Threshold(delta=0.0)
