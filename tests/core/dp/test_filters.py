import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dp.charge import ORDERS, Charge, charge_of, total
from core.dp.errors import InvalidGuarantee
from core.dp.filters import AdmissionRule, Cap, FilterUse, admit, rdp_capacity
from core.dp.gaussian import largest_mu
from core.dp.guarantee import PrivacyGuarantee
from core.dp.remaining import remaining_epsilon
from core.dp.typical_job import delta_of_request, delta_under_grant, typical_charge
from tests.core.dp.builders import gaussian
from tests.core.dp.test_charge import charges


def gaussian_job(epsilon: float, delta: float) -> Charge:
    mu = largest_mu(PrivacyGuarantee(epsilon=epsilon, delta=delta))
    return charge_of(gaussian(1 / mu * (1 + 1e-9)), delta=delta)


def cap(epsilon: float, delta: float = 1e-5, rule: AdmissionRule = AdmissionRule.FILTERS) -> Cap:
    return Cap(epsilon=epsilon, delta=delta, rule=rule)


@pytest.mark.parametrize(("jobs", "needed"), [(2, 1.82), (4, 2.68), (8, 3.87), (16, 5.71)])
def test_gaussian_jobs_of_epsilon_one_fit_under_the_caps_of_the_design(jobs: int, needed: float):
    # The design quotes the needed caps to two decimals, for jobs of (1, delta_cap).
    job = gaussian_job(1.0, 1e-5)

    assert admit(cap(needed + 0.005), [job] * jobs).admitted
    assert not admit(cap(needed - 0.005), [job] * jobs).admitted
    assert admit(cap(needed + 0.005), [job] * jobs).carried_by != "basic"


def test_a_single_job_of_the_caps_own_epsilon_is_carried_by_basic():
    admission = admit(cap(1.0, 1e-6), [gaussian_job(1.0, 1e-6 / 16)])

    assert admission.admitted
    assert admission.carried_by == "basic"
    assert admission.holds == {"basic": True} | {f"rdp-{order}": False for order in ORDERS}


def test_the_default_delta_of_a_job_is_a_sixteenth_of_the_caps():
    assert cap(1.0, 1e-6).default_job_delta() == 1e-6 / 16
    assert cap(1.0, 1e-12).default_job_delta() == 1e-12, "the smallest that can be promised"


@pytest.mark.parametrize("order", ORDERS)
def test_a_capacity_converts_back_to_the_cap_at_its_share_of_delta(order: int):
    budget = cap(8.0)
    share = budget.delta / (2 * len(ORDERS))

    capacity = rdp_capacity(budget, order)

    # Canonne, Kamath and Steinke 2020, proposition 12, forwards
    epsilon = capacity + math.log1p(-1 / order) - math.log(order * share) / (order - 1)
    assert epsilon == pytest.approx(budget.epsilon, abs=1e-9)


def test_the_shares_of_delta_add_up_to_the_cap():
    admission = admit(cap(1.0), [])

    basic = admission.filters["basic"].capacity_femtos
    assert basic == 10**10 // 2
    assert len(admission.filters) == 1 + len(ORDERS)


def test_a_capacity_below_zero_holds_for_nobody():
    small = cap(0.1, 1e-6)

    assert rdp_capacity(small, 4) == 0
    admission = admit(small, [])
    assert not admission.holds["rdp-4"]
    assert admission.filters["rdp-4"].free_share == -1
    assert admission.admitted
    assert admission.carried_by == "basic"


def test_basic_alone_has_no_other_filter_and_all_of_delta():
    job = gaussian_job(1.0, 1e-5 / 16)
    budget = cap(8.0, rule=AdmissionRule.BASIC)

    assert set(admit(budget, []).filters) == {"basic"}
    assert admit(budget, [job] * 7).admitted
    assert not admit(budget, [job] * 9).admitted
    assert admit(budget, []).filters["basic"].capacity_femtos == 10**10


def test_deltas_alone_can_exhaust_basic():
    job = Charge(epsilon_micros=1, delta_femtos=3 * 10**9, rdp_micros=(10**9,) * len(ORDERS))

    assert admit(cap(5.0), [job]).carried_by == "basic"
    assert admit(cap(5.0), [job, job]).carried_by is None


def test_what_is_left_is_negative_when_exceeded():
    admission = admit(cap(2.0), [gaussian_job(1.0, 1e-5 / 16)] * 3)

    assert admission.filters["basic"].remaining_micros == pytest.approx(-1_000_000, abs=5)


def test_a_room_without_delta_is_judged_by_its_amount_alone():
    assert FilterUse(capacity_micros=5, used_micros=5).holds
    assert not FilterUse(capacity_micros=5, used_micros=6).holds
    assert FilterUse(
        capacity_micros=10, used_micros=5, capacity_femtos=100, used_femtos=90
    ).free_share == pytest.approx(0.1)


@given(st.lists(charges, max_size=5), charges, st.floats(0.01, 100))
def test_more_charges_never_help(parts: list[Charge], more: Charge, epsilon: float):
    before, after = admit(cap(epsilon), parts), admit(cap(epsilon), [*parts, more])

    assert before.admitted or not after.admitted
    assert all(before.holds[name] or not after.holds[name] for name in before.holds)


@given(st.lists(charges, max_size=5), st.floats(0.01, 100), st.floats(0, 10))
def test_a_larger_cap_never_hurts(parts: list[Charge], epsilon: float, more: float):
    assert admit(cap(epsilon + more), parts).admitted or not admit(cap(epsilon), parts).admitted


@given(
    st.lists(charges, max_size=5),
    st.floats(0.01, 100),
    st.floats(0, 10),
    st.floats(1e-12, 0.1),
    st.floats(1, 9),
    st.sampled_from(AdmissionRule),
)
def test_a_filter_that_holds_under_a_cap_holds_under_each_cap_above_it(
    parts: list[Charge], epsilon: float, more: float, delta: float, factor: float, rule: AdmissionRule
):
    lower = admit(Cap(epsilon=epsilon, delta=delta, rule=rule), parts).holds
    upper = admit(Cap(epsilon=epsilon + more, delta=delta * factor, rule=rule), parts).holds
    assert all(upper[name] for name, holds in lower.items() if holds)


@given(st.permutations(list(range(4))), st.floats(0.5, 5))
def test_the_order_of_jobs_does_not_matter(order: list[int], epsilon: float):
    jobs = [charge_of(gaussian(3.0 + i), delta=1e-7) for i in range(4)]

    assert admit(cap(epsilon), [jobs[i] for i in order]) == admit(cap(epsilon), jobs)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (math.inf, 1e-6), (1.0, 1e-13), (1.0, 1.0)])
def test_a_cap_is_a_guarantee(epsilon: float, delta: float):
    with pytest.raises(InvalidGuarantee):
        cap(epsilon, delta)


def test_what_remains_is_the_largest_job_that_still_fits():
    budget = cap(3.0)
    spent = [gaussian_job(1.0, budget.default_job_delta())]

    left = remaining_epsilon(budget, spent, thresholds=False)

    assert 2.0 < left < 3.0  # more than basic composition leaves
    assert admit(budget, [*spent, gaussian_job(left - 1e-4, budget.default_job_delta())]).admitted
    assert not admit(budget, [*spent, gaussian_job(left + 2e-4, budget.default_job_delta())]).admitted


def test_nothing_remains_when_all_is_spent():
    spent = [gaussian_job(1.0, 1e-7)]

    assert remaining_epsilon(cap(1.0, 1e-6), spent, thresholds=False) == pytest.approx(0.0, abs=1e-3)
    assert remaining_epsilon(cap(1.0, 1e-6), spent * 3, thresholds=False) == 0.0
    assert remaining_epsilon(cap(1.0, 1e-12, AdmissionRule.BASIC), [], thresholds=False) == 1.0


def test_with_a_threshold_only_basic_composition_leaves_something():
    budget, first = cap(1.5), typical_charge(1.0, 1e-5 / 16, thresholds=True)
    assert remaining_epsilon(budget, [first], thresholds=False) == 0.5
    assert remaining_epsilon(budget, [first], thresholds=True) == 0.5
    gaussian = typical_charge(1.0, 1e-5 / 16, thresholds=False)
    assert remaining_epsilon(budget, [gaussian], thresholds=True) == 0.5
    assert remaining_epsilon(budget, [gaussian], thresholds=False) > 0.9
    assert (first.basic_alone, gaussian.basic_alone, total([first, gaussian]).basic_alone) == (
        True,
        False,
        True,
    )


@pytest.mark.parametrize("thresholds", [False, True])
@pytest.mark.parametrize("granted", [1e-5, 1e-6, 1e-9, 1e-11, 4e-12, 2e-12])
def test_a_default_delta_fits_whatever_epsilon_is_left_of_a_grant(granted: float, *, thresholds: bool):
    budget, grant = cap(3.0), cap(1.0, granted)
    spent: list[Charge] = []
    for epsilon in (0.3, 0.001, 0.2, 0.499):
        left = remaining_epsilon(grant, spent, thresholds=thresholds, within=budget)
        delta = delta_under_grant(budget, grant, spent, epsilon=epsilon, thresholds=thresholds)
        charge = typical_charge(epsilon, delta, thresholds=thresholds)
        fits = admit(grant, [*spent, charge]).admitted
        assert fits is (epsilon <= left)
        assert delta <= budget.default_job_delta()
        if granted >= 1e-9:
            assert fits, "delta does not run out before epsilon"
        spent += [charge] if fits else []


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.25, 0.25], [0.1] * 10, [0.7, 0.299, 0.001]])
def test_grants_of_a_default_delta_can_all_be_spent_to_their_last_epsilon(shares: list[float]):
    budget = cap(4.0)
    spent: list[Charge] = []
    for share in shares:
        epsilon = round(4.0 * share, 9)
        grant = cap(epsilon, delta_of_request(budget, epsilon))
        assert grant.delta == pytest.approx(budget.delta * share)
        delta = delta_under_grant(budget, grant, [], epsilon=epsilon, thresholds=True)
        charge = typical_charge(epsilon, delta, thresholds=True)
        assert admit(grant, [charge]).admitted
        assert admit(budget, [*spent, charge]).admitted, "the grants together fit the cap"
        spent.append(charge)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 900.0])
def test_a_default_delta_of_a_grant_lies_between_what_can_be_promised_and_the_cap(epsilon: float):
    assert 2e-12 <= delta_of_request(cap(4.0), epsilon) <= 1e-5
    assert delta_of_request(cap(4.0, 1e-12), epsilon) == 1e-12
