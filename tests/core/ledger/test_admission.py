import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dp.charge import FEMTO, MICRO, ORDERS, UNBOUNDED_MICROS, Charge, total
from core.dp.filters import AdmissionRule, Cap, admit
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


@given(st.lists(charges(400_000), max_size=4), charges(400_000), st.sampled_from([FILTERS, BASIC]))
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


@given(st.lists(charges(300_000), min_size=1, max_size=5), st.sampled_from([FILTERS, BASIC]), st.data())
def test_giving_back_never_closes_a_door(standing, cap, data):
    request = data.draw(charges(300_000))
    fewer = data.draw(st.lists(st.sampled_from(standing), max_size=len(standing), unique_by=id))
    if admit(cap, [*standing, request]).admitted and all(
        standing.count(each) >= fewer.count(each) for each in fewer
    ):
        assert require_room(cap, total(fewer), request).admitted


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
