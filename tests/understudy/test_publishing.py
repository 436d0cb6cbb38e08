import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.privacy.charge import FEMTO, MICRO, ORDERS, Charge, decimal_of
from core.privacy.filters import AdmissionRule, Cap, admit
from understudy import InputUnusable
from understudy.publication import parse_options, smallest_budget


@given(epsilon=st.floats(0.01, 50), delta=st.floats(1e-12, 1e-2))
def test_the_smallest_budget_admits_exactly_one_such_job(epsilon: float, delta: float) -> None:
    cap_epsilon, cap_delta = smallest_budget(epsilon, delta)
    cap = Cap(epsilon=cap_epsilon, delta=cap_delta, rule=AdmissionRule.FILTERS)
    job = Charge(
        epsilon_micros=math.ceil(decimal_of(epsilon) * MICRO),
        delta_femtos=math.ceil(decimal_of(delta) * FEMTO),
        # The Renyi filters hold less than these, so that the basic filter alone decides.
        rdp_micros=(10**12,) * len(ORDERS),
    )
    assert admit(cap, [job]).admitted
    assert not admit(cap, [job, job]).admitted
    assert cap_epsilon - epsilon < 1e-6
    assert cap_delta / 2 - delta < 1e-15


def test_plain_amounts_stay_plain() -> None:
    assert smallest_budget(1.0, 1e-6) == (1.0, 2e-6)


def test_settings_are_json_where_they_parse_and_text_elsewhere() -> None:
    settings = ["steps=50", "schedule=exponential", "acts=true", "critic_steps=adaptive", "gp_weight=0.5"]
    assert parse_options(settings) == {
        "steps": 50,
        "schedule": "exponential",
        "acts": True,
        "critic_steps": "adaptive",
        "gp_weight": 0.5,
    }


@pytest.mark.parametrize("settings", [["steps"], ["=5"], ["a=1", "a=2"]])
def test_a_malformed_setting_is_refused(settings: list[str]) -> None:
    with pytest.raises(InputUnusable, match="--set"):
        parse_options(settings)
