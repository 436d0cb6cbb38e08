"""Every sequence of small integer charges under small caps, admitted one by one as the ledger does, against the plain laws.

The laws are written again, in exact decimals and with 50 digits, from privacy.md: nothing of core.dp.filters is used.
"""

import itertools
import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import cache

import pytest

from core.dp.charge import ORDERS, Charge
from core.dp.filters import AdmissionRule, Cap, admit
from tests.core.dp.brute import sequences


@cache
def naive_capacity(epsilon: str, delta: str, order: int) -> int:
    """B(order) in millionths, rounded down, with 50 digits; -1 where there is none."""
    with localcontext() as context:
        context.prec = 50
        share = Decimal(delta) / (2 * len(ORDERS))
        bound = Decimal(epsilon) + (order * share).ln() / (order - 1) - (1 - 1 / Decimal(order)).ln()
        floor = int((bound * 10**6).to_integral_value(rounding=ROUND_FLOOR))
    return floor if floor > 0 else -1


def naive_holds(charges: list[Charge], epsilon: str, delta: str, rule: AdmissionRule) -> dict[str, bool]:
    share = Fraction(delta) / (1 if rule is AdmissionRule.BASIC else 2)
    spent = Fraction(sum(charge.epsilon_micros for charge in charges), 10**6)
    leaked = Fraction(sum(charge.delta_femtos for charge in charges), 10**15)
    holds = {"basic": spent <= Fraction(epsilon) and leaked <= share}
    if rule is AdmissionRule.FILTERS:
        for place, order in enumerate(ORDERS):
            used = sum(charge.rdp_micros[place] for charge in charges)
            holds[f"rdp-{order}"] = used <= naive_capacity(epsilon, delta, order)
    return holds


def renyi_cap(order: int, delta: str, micros: int) -> str:
    """An epsilon under which the filter of `order` has room for exactly `micros`, to 15 digits."""
    share = float(delta) / (2 * len(ORDERS))
    exact = -math.log(order * share) / (order - 1) + math.log1p(-1 / order) + (micros + 0.5) * 1e-6
    return f"{exact:.12f}"


def charge(epsilon: int, delta: int, rdp: int, place: int | None = None) -> Charge:
    """A charge of so many millionths; other orders than the one at `place` are far too dear."""
    amounts = tuple(rdp if place in {None, index} else 10**12 for index in range(len(ORDERS)))
    return Charge(epsilon_micros=epsilon, delta_femtos=delta, rdp_micros=amounts)


SMALL_CAPS = [("0.000003", "0.000000000004"), ("0.000005", "0.000000000001"), ("0.000001", "0.00001")]


@pytest.mark.parametrize("rule", AdmissionRule)
@pytest.mark.parametrize(("epsilon", "delta"), SMALL_CAPS)
def test_every_sequence_of_small_charges_is_judged_by_the_plain_law_of_basic(
    epsilon: str, delta: str, rule: AdmissionRule
):
    cap = Cap(epsilon=float(epsilon), delta=float(delta), rule=rule)
    alphabet = [charge(e, d, 10**12) for e, d in itertools.product((0, 1, 2, 3), (0, 500, 1000))]
    for sequence in sequences(list(range(len(alphabet))), 3):
        charges = [alphabet[number] for number in sequence]
        admission = admit(cap, charges)
        assert admission.holds == naive_holds(charges, epsilon, delta, rule)
        assert admission.admitted == any(admission.holds.values())


@pytest.mark.parametrize("place", range(len(ORDERS)))
def test_every_sequence_of_small_charges_is_judged_by_the_plain_law_of_each_order(place: int):
    order, delta = ORDERS[place], "0.00001"
    epsilon = renyi_cap(order, delta, 4)
    cap = Cap(epsilon=float(epsilon), delta=float(delta), rule=AdmissionRule.FILTERS)
    assert naive_capacity(epsilon, delta, order) == 4
    # Basic is made to fail at once, so that this order alone decides.
    alphabet = [charge(10**9, 0, rdp, place) for rdp in (0, 1, 2, 3, 5)]
    decisions = set()
    for sequence in sequences(list(range(len(alphabet))), 4):
        charges = [alphabet[number] for number in sequence]
        admission = admit(cap, charges)
        assert admission.holds == naive_holds(charges, epsilon, delta, AdmissionRule.FILTERS)
        if charges:
            assert admission.admitted == (sum(used.rdp_micros[place] for used in charges) <= 4)
            decisions.add(admission.admitted)
    assert decisions == {True, False}


def test_a_ledger_that_admits_one_by_one_never_leaves_all_filters_whatever_is_asked():
    delta = "0.00001"
    epsilon = renyi_cap(32, delta, 3)
    cap = Cap(epsilon=float(epsilon), delta=float(delta), rule=AdmissionRule.FILTERS)
    room = math.floor(Fraction(epsilon) * 10**6)
    alphabet = [
        charge(room // 2, 0, 2, 5),
        charge(room, 10**9, 1, 5),
        charge(1, 4 * 10**9, 4, 5),
        charge(10**9, 0, 3, 5),
    ]
    refused = 0
    for sequence in sequences(list(range(len(alphabet))), 5):
        taken: list[Charge] = []
        for number in sequence:
            if admit(cap, [*taken, alphabet[number]]).admitted:
                taken.append(alphabet[number])
            else:
                refused += 1
            if taken:
                assert any(naive_holds(taken, epsilon, delta, AdmissionRule.FILTERS).values())
    assert refused > 300


@pytest.mark.parametrize("delta", ["0.00001", "0.000000000001", "0.3"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4.7", "33.3", "1000"])
def test_capacities_are_rounded_down_from_fifty_digits(epsilon: str, delta: str):
    cap = Cap(epsilon=float(epsilon), delta=float(delta), rule=AdmissionRule.FILTERS)

    filters = admit(cap, []).filters

    for order in ORDERS:
        exact = naive_capacity(epsilon, delta, order)
        assert exact - 1 <= filters[f"rdp-{order}"].capacity_micros <= exact
    assert Fraction(filters["basic"].capacity_micros, 10**6) <= Fraction(epsilon)
    assert Fraction(filters["basic"].capacity_femtos or 0, 10**15) <= Fraction(delta) / 2
