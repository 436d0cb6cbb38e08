import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from core.dp.charge import FEMTO, MICRO, ORDERS, UNBOUNDED_MICROS, Charge, total
from core.dp.filters import AdmissionRule, Cap, admit, remaining_femtos
from core.errors import BudgetRefused
from core.ledger.admission import (
    LARGEST_SUM,
    decimal_text,
    nearest_filter,
    require_cap_above,
    require_recordable,
    require_room,
)
from core.ledger.errors import CapBelowSpent
from core.ledger.reservation import NOTHING
from tests.core.ledger.support import charge, charges

FILTERS = Cap(epsilon=1.0, delta=1e-5, rule=AdmissionRule.FILTERS)
BASIC = Cap(epsilon=1.0, delta=1e-5, rule=AdmissionRule.BASIC)
AROUND_THE_CAP = (
    charges(400_000)
    | charges(1_500_000, least=700_000)
    | charges(400_000, deltas=st.integers(10**9, 15 * 10**9))
)
"""No Renyi filter admits an amount from 700,000 on; of the last charges, delta can be all that lacks."""
FIRST = settings(max_examples=2000, phases=[Phase.generate])
"""Any example will do, not the smallest."""


class TestRefusal:
    def refusal(self, cap, standing, request):
        with pytest.raises(BudgetRefused) as refusal:
            require_room(cap, standing, request)
        return refusal.value

    def test_it_prints_requested_remaining_and_difference(self):
        error = self.refusal(FILTERS, charge(0.6), charge(0.5))
        assert (
            error.detail
            == "This order costs epsilon 0.5, and the dataset's cap has 0.4 left for one more order."
        )
        assert error.status == 409
        assert error.facts["filter"] == "basic"
        assert error.facts["shortages"][0] == {
            "filter": "basic",
            "quantity": "epsilon",
            "requested": "0.5",
            "remaining": "0.4",
            "difference": "0.1",
        }

    def test_it_lists_every_filter_that_lacks_room(self):
        error = self.refusal(FILTERS, NOTHING, charge(1.5))
        assert {shortage["filter"] for shortage in error.facts["shortages"]} == {
            "basic",
            *(f"rdp-{order}" for order in ORDERS),
        }

    def test_delta_can_be_what_lacks(self):
        error = self.refusal(BASIC, charge(0.1), charge(0.1, delta_femtos=10**10))
        assert error.detail == (
            "This order costs epsilon 0.1 and delta 0.00001. Of the dataset's cap, delta 0.000009999 is left, and epsilon 0.9 for"
            " one more order at delta 6.25e-07."
        )

    def test_both_can_lack(self):
        error = self.refusal(BASIC, NOTHING, charge(2.0, delta_femtos=10**11))
        assert {shortage["quantity"] for shortage in error.facts["shortages"]} == {"epsilon", "delta"}

    def test_a_filter_of_renyi_divergence_can_come_nearest(self):
        small = tuple(0 for _ in ORDERS[:-1])
        capacity = admit(FILTERS, ()).filters["rdp-32"].capacity_micros
        error = self.refusal(FILTERS, NOTHING, charge(9.0, rdp=(*(10**12 for _ in small), capacity + 1)))
        assert error.facts["filter"] == "rdp-32"
        (nearest,) = (one for one in error.facts["shortages"] if one["filter"] == "rdp-32")
        assert nearest["quantity"] == "Renyi divergence"
        assert nearest["difference"] == "0.000001"
        assert "Renyi" not in error.detail, "people read it"


def test_a_cap_below_what_is_spent():
    with pytest.raises(CapBelowSpent) as refusal:
        require_cap_above(BASIC, total([charge(0.7), charge(0.7, delta_femtos=10**11)]))
    assert refusal.value.detail == (
        "A cap of epsilon 1 and delta 1e-05 does not cover what is spent and reserved: epsilon 1.4 and delta 0.000100001 as plain sums."
    )
    assert require_cap_above(BASIC, charge(1.0)).admitted


@pytest.mark.parametrize("cap", [FILTERS, BASIC], ids=lambda cap: cap.rule)
@pytest.mark.parametrize("admitted", [True, False])
def test_the_amounts_drawn_are_admitted_and_refused(cap, admitted):
    drawn = st.lists(AROUND_THE_CAP, max_size=5)
    found = find(drawn, lambda charges: admit(cap, charges).admitted is admitted, settings=FIRST)
    assert admit(cap, found).admitted is admitted


@pytest.mark.parametrize("cap", [FILTERS, BASIC], ids=lambda cap: cap.rule)
def test_the_amounts_drawn_are_refused_for_delta_alone(cap):
    def lacks_delta(drawn):
        verdict = admit(cap, drawn)
        return not verdict.admitted and verdict.filters["basic"].remaining_micros >= 0

    assert lacks_delta(find(st.lists(AROUND_THE_CAP, max_size=5), lacks_delta, settings=FIRST))


@given(st.lists(AROUND_THE_CAP, max_size=4), AROUND_THE_CAP, st.sampled_from([FILTERS, BASIC]))
def test_admission_is_what_the_filters_say(standing, request, cap):
    verdict = admit(cap, [*standing, request])
    if verdict.admitted:
        assert require_room(cap, total(standing), request) == verdict
        return
    with pytest.raises(BudgetRefused) as refusal:
        require_room(cap, total(standing), request)
    nearest = nearest_filter(verdict)
    assert refusal.value.facts["filter"] == nearest
    assert not verdict.holds[nearest]
    assert nearest in {shortage["filter"] for shortage in refusal.value.facts["shortages"]}
    assert refusal.value.detail.startswith("This order costs epsilon ")


@given(
    st.lists(charges(180_000, deltas=st.integers(0, 900_000_000)), min_size=1, max_size=5),
    st.sampled_from([FILTERS, BASIC]),
    st.data(),
)
def test_giving_back_never_closes_a_door(standing, cap, data):
    """A request takes all that one filter has left, and no other filter has room for it."""
    before = admit(cap, standing)
    name = data.draw(st.sampled_from([name for name, holds in before.holds.items() if holds]))
    left = before.filters[name].remaining_micros
    request = Charge(
        epsilon_micros=left if name == "basic" else 2 * MICRO,
        delta_femtos=remaining_femtos(cap, standing) if name == "basic" else 0,
        rdp_micros=tuple(left if name == f"rdp-{order}" else UNBOUNDED_MICROS for order in ORDERS),
    )
    assert require_room(cap, total(standing), request).carried_by == name
    fewer = data.draw(st.lists(st.sampled_from(standing), max_size=len(standing), unique_by=id))
    assert require_room(cap, total(fewer), request).carried_by == name


def test_sums_that_no_column_holds_are_refused_in_words():
    thresholds = charge(1e-6, rdp=(UNBOUNDED_MICROS,) * len(ORDERS))
    fits = LARGEST_SUM // UNBOUNDED_MICROS
    require_recordable(total([thresholds] * (fits - 1)), thresholds)
    in_force = total([thresholds] * fits)
    assert require_room(BASIC, in_force, thresholds).admitted, "the cap allows it"
    with pytest.raises(BudgetRefused) as refusal:
        require_recordable(in_force, thresholds)
    assert (fits, refusal.value.code) == (9223, "budget-refused")
    assert "cannot hold the sums" in refusal.value.detail


@given(st.integers(-(10**20), 10**20))
def test_decimals_are_exact(amount):
    for unit, places in ((MICRO, 6), (FEMTO, 15)):
        text = decimal_text(amount, unit)
        whole, _, fraction = text.lstrip("-").partition(".")
        digits = int(whole + fraction.ljust(places, "0"))
        assert digits == abs(amount)
        assert text.startswith("-") == (amount < 0)
        assert not fraction.endswith("0")


def test_nothing_always_fits():
    assert require_room(BASIC, NOTHING, NOTHING).admitted
    assert Charge(epsilon_micros=0, delta_femtos=0, rdp_micros=(0,) * len(ORDERS)) == NOTHING
