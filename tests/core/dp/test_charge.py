import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dp.accountant import epsilons, rdp_at
from core.dp.charge import ORDERS, Charge, charge_of, decimal_of, total
from core.dp.errors import InvalidGuarantee
from core.dp.mechanism import Composed
from tests.core.dp.builders import gaussian, training

amounts = st.integers(0, 10**12)
charges = st.builds(
    lambda epsilon, delta, rdp: Charge(epsilon_micros=epsilon, delta_femtos=delta, rdp_micros=tuple(rdp)),
    amounts, amounts, st.lists(amounts, min_size=len(ORDERS), max_size=len(ORDERS)),
)  # fmt: skip


def test_amounts_are_rounded_up():
    mechanism = Composed(parts=(gaussian(4.3), training(0.02, 9.0, 100)))

    charge = charge_of(mechanism, delta=1e-6)

    epsilon = epsilons(mechanism, delta=1e-6).reported
    assert 0 <= Fraction(charge.epsilon_micros, 10**6) - Fraction(epsilon) < Fraction(1, 10**6)
    assert charge.delta_femtos == 10**9
    for amount, exact in zip(charge.rdp_micros, rdp_at(mechanism, ORDERS), strict=True):
        assert amount == math.ceil(Fraction(exact) * 10**6)


def test_what_ran_is_never_free():
    charge = charge_of(gaussian(1e9), delta=0.1)

    assert charge.epsilon_micros == 1
    assert set(charge.rdp_micros) == {1}


def test_a_delta_is_the_decimal_that_was_written():
    assert charge_of(gaussian(1.0), delta=1e-5).delta_femtos == 10**10
    assert decimal_of(0.1) == Fraction(1, 10)


@given(charges)
def test_a_charge_survives_json(charge: Charge):
    assert Charge.from_json(charge.to_json()) == charge


@given(st.lists(charges, max_size=6))
def test_the_total_is_the_sum_in_any_order(parts: list[Charge]):
    summed = total(parts)

    assert summed == total(parts[::-1])
    assert summed.epsilon_micros == sum(part.epsilon_micros for part in parts)
    assert summed.delta_femtos == sum(part.delta_femtos for part in parts)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"epsilon_micros": 1, "delta_femtos": 1, "rdp_micros": {"4": 1}},
        {"epsilon_micros": 1, "delta_femtos": 1, "rdp_micros": None},
        {"epsilon_micros": 1.0, "delta_femtos": 1, "rdp_micros": dict.fromkeys(map(str, ORDERS), 1)},
        {"epsilon_micros": -1, "delta_femtos": 1, "rdp_micros": dict.fromkeys(map(str, ORDERS), 1)},
        {"epsilon_micros": True, "delta_femtos": 1, "rdp_micros": dict.fromkeys(map(str, ORDERS), 1)},
    ],
)
def test_a_document_that_is_no_charge_is_refused(document: dict[str, object]):
    with pytest.raises(InvalidGuarantee):
        Charge.from_json(document)


def test_a_charge_has_one_amount_per_order():
    with pytest.raises(InvalidGuarantee):
        Charge(epsilon_micros=1, delta_femtos=1, rdp_micros=(1, 2))


def test_a_delta_out_of_reach_is_not_charged():
    with pytest.raises(InvalidGuarantee):
        charge_of(gaussian(1.0), delta=1e-13)


def test_almost_no_noise_has_a_huge_but_exact_charge():
    charge = charge_of(gaussian(1e-9), delta=1e-6)

    assert charge.rdp_micros[0] == pytest.approx(2e18 * 10**6, rel=1e-9)
    assert charge.epsilon_micros > 10**20
