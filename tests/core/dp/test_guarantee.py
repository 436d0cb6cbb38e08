import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.errors import InvalidGuarantee
from core.dp.guarantee import PrivacyGuarantee


@given(st.floats(1e-6, 1e6), st.floats(1e-12, 0.5))
def test_a_guarantee_survives_json(epsilon: float, delta: float):
    guarantee = PrivacyGuarantee(epsilon=epsilon, delta=delta)

    assert PrivacyGuarantee.from_json(guarantee.to_json()) == guarantee


@pytest.mark.parametrize("epsilon", [0.0, -0.0, -1.0, 1e-7, math.inf, -math.inf, math.nan])
def test_an_epsilon_that_promises_nothing_or_cannot_be_kept_is_refused(epsilon: float):
    with pytest.raises(InvalidGuarantee):
        PrivacyGuarantee(epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("delta", [0.0, -1e-6, 9.9e-13, 1.0, 2.0, math.inf, math.nan])
def test_a_delta_outside_the_accountants_reach_is_refused(delta: float):
    with pytest.raises(InvalidGuarantee):
        PrivacyGuarantee(epsilon=1.0, delta=delta)


@pytest.mark.parametrize(
    "document", [{}, {"epsilon": 1.0}, {"epsilon": "x", "delta": 1e-6}, {"epsilon": None, "delta": 1e-6}]
)
def test_a_document_without_both_numbers_is_refused(document: dict[str, object]):
    with pytest.raises(InvalidGuarantee):
        PrivacyGuarantee.from_json(document)


@pytest.mark.parametrize("column", [None, "patient"])
def test_a_privacy_unit_survives_json(column: str | None):
    unit = PrivacyUnit(column=column)

    assert PrivacyUnit.from_json(unit.to_json()) == unit


def test_a_privacy_unit_without_a_proper_column_is_refused():
    with pytest.raises(InvalidGuarantee):
        PrivacyUnit(column="")
    for document in ({}, {"column": 3}):
        with pytest.raises(InvalidGuarantee):
            PrivacyUnit.from_json(document)


def test_the_only_adjacency_is_add_or_remove_and_its_name_is_stable():
    assert [adjacency.value for adjacency in Adjacency] == ["add-or-remove"]
