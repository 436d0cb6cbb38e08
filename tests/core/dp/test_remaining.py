"""What a cap has left: an order of exactly that is admitted, whatever it is charged."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dp.charge import ORDERS, UNBOUNDED_MICROS, Charge
from core.dp.errors import TargetOutOfReach
from core.dp.filters import AdmissionRule, Cap, admit
from core.dp.guarantee import PrivacyGuarantee
from core.dp.remaining import (
    admitted_instead,
    composed_epsilon,
    floored,
    gaussian_charge_at,
    largest_epsilon,
    remaining_epsilon,
)
from core.dp.typical_job import typical_charge

CAP = Cap(epsilon=2.0, delta=1e-5, rule=AdmissionRule.FILTERS)


def _gaussian(epsilon: float, delta: float) -> Charge:
    return typical_charge(epsilon, delta, thresholds=False)


ELEVEN = [_gaussian(0.5, 1e-6)] * 11
"""More delta than the basic filter has: Renyi filters carry them."""


def with_threshold(guarantee: PrivacyGuarantee) -> Charge:
    return replace(gaussian_charge_at(guarantee), rdp_micros=(UNBOUNDED_MICROS,) * len(ORDERS))


def dearer(guarantee: PrivacyGuarantee) -> Charge:
    typical = gaussian_charge_at(guarantee)
    return replace(typical, rdp_micros=tuple(3 * amount for amount in typical.rdp_micros))


KINDS = [gaussian_charge_at, with_threshold, dearer]


@pytest.mark.parametrize("delta", [1e-6, 6.25e-7, 1e-8])
def test_what_is_left_is_left_at_the_orders_own_delta(delta: float) -> None:
    left = largest_epsilon(CAP, ELEVEN, delta=delta)
    assert left > 0.2
    assert admit(CAP, [*ELEVEN, _gaussian(left, delta)]).admitted
    assert not admit(CAP, [*ELEVEN, _gaussian(left + 1e-4, delta)]).admitted


def test_what_is_left_at_another_delta_is_not_admitted() -> None:
    usual, own = remaining_epsilon(CAP, ELEVEN, thresholds=False), largest_epsilon(CAP, ELEVEN, delta=1e-6)
    assert usual != own
    assert not admit(CAP, [*ELEVEN, _gaussian(max(usual, own), 1e-6 if usual > own else 6.25e-7)]).admitted


@pytest.mark.parametrize("rule", AdmissionRule)
def test_all_of_an_untouched_cap_is_left_to_its_last_digit(rule: AdmissionRule) -> None:
    """Reproduced: of 0.3, 0.2999 was left, and of 1.7, 1.7000000000000002."""
    caps = [Cap(epsilon=tenths / 10, delta=1e-5, rule=rule) for tenths in range(1, 101)]
    wrong = [each.epsilon for each in caps if remaining_epsilon(each, [], thresholds=False) != each.epsilon]
    assert wrong == []


@pytest.mark.parametrize("charge_at", KINDS)
@settings(max_examples=25)
@given(
    spent=st.lists(
        st.tuples(st.sampled_from([0.1, 0.5, 1.0]), st.sampled_from([1e-7, 1e-6, 2e-6])), max_size=8
    ),
    delta=st.sampled_from([1e-8, 6.25e-7, 1e-6, 4e-6]),
)
def test_an_order_of_what_is_left_is_admitted(
    charge_at: Callable[[PrivacyGuarantee], Charge], spent: list[tuple[float, float]], delta: float
) -> None:
    before = [_gaussian(*one) for one in spent]
    left = largest_epsilon(CAP, before, delta=delta, charge_at=charge_at)
    if left:
        assert admit(CAP, [*before, charge_at(PrivacyGuarantee(epsilon=left, delta=delta))]).admitted
    wanted = PrivacyGuarantee(epsilon=2.5, delta=delta)
    instead = admitted_instead(CAP, before, wanted, charge_at=charge_at)
    if instead is not None:
        assert admit(CAP, [*before, charge_at(instead)]).admitted
        assert instead.delta <= delta
    else:
        assert left == 0


def test_an_order_with_a_threshold_has_what_the_basic_filter_has() -> None:
    assert largest_epsilon(CAP, ELEVEN, delta=1e-6, charge_at=with_threshold) == 0
    assert (
        admitted_instead(CAP, ELEVEN, PrivacyGuarantee(epsilon=0.1, delta=1e-6), charge_at=with_threshold)
        is None
    )
    three = ELEVEN[:3]
    assert largest_epsilon(CAP, three, delta=1e-6, charge_at=with_threshold) == 0.5
    assert largest_epsilon(CAP, three, delta=3e-6, charge_at=with_threshold) == 0
    less = admitted_instead(CAP, three, PrivacyGuarantee(epsilon=0.4, delta=3e-6), charge_at=with_threshold)
    assert less == PrivacyGuarantee(epsilon=0.4, delta=2e-6)


def test_an_order_that_cannot_be_planned_is_not_left() -> None:
    def unplanned(guarantee: PrivacyGuarantee) -> Charge:
        raise TargetOutOfReach("none")

    assert largest_epsilon(CAP, [], delta=1e-6, charge_at=unplanned) == 0


def test_what_is_composed_is_the_smallest_cap_that_admits_it() -> None:
    assert composed_epsilon(CAP, []) == 0
    assert composed_epsilon(CAP, ELEVEN[:1]) == 0.5
    together = composed_epsilon(CAP, ELEVEN)
    assert together is not None
    assert 1.9 < together < 2 < 11 * 0.5
    assert admit(replace(CAP, epsilon=together), ELEVEN).admitted
    assert not admit(replace(CAP, epsilon=together - 1e-6), ELEVEN).admitted
    assert composed_epsilon(CAP, ELEVEN * 2) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(9.3756e-7, 9.37e-7), (1e-6, 1e-6), (0.0, 0.0), (12.349, 12.3), (4.999999e-6, 4.99e-6)],
)
def test_an_offered_delta_is_rounded_down(value: float, expected: float) -> None:
    assert floored(value, 3) == expected
