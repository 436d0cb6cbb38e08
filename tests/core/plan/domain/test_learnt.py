"""Domains that leave bounds, bins or categories to be learnt: what a document may say, and that intake learns nothing."""

import json
from typing import Any

import pyarrow as pa
import pytest

from core.plan.domain.cleaning.column import clean_column
from core.plan.domain.errors import DomainInvalid
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain

NUMBER = {"name": "x", "kind": "numeric", "type": "real", "bounds": "learn", "bins": "learn"}
TIME = {"name": "x", "kind": "date", "bounds": "learn", "bins": "learn", "most": 12}
WORD = {"name": "x", "kind": "categorical", "categories": "learn"}


def domain_of(*columns: dict[str, Any], **members: Any) -> TableDomain:
    document = {
        "schema": "understudy.domain/1",
        "target": None,
        "privacy_unit": None,
        "columns": list(columns),
    }
    return TableDomain.from_json(document | members)


@pytest.mark.parametrize(
    ("column", "learnt", "codes"),
    [
        (NUMBER, ("bounds", "bins"), 32),
        (NUMBER | {"most": 9, "null": "category", "specials": [0]}, ("bounds", "bins"), 11),
        ({**NUMBER, "bins": 7}, ("bounds",), 7),
        (NUMBER | {"type": "integer", "lower": -1000, "upper": 17000}, ("bounds", "bins"), 32),
        (NUMBER | {"decimals": 2}, ("bounds", "bins"), 32),
        (TIME, ("bounds", "bins"), 12),
        (WORD, ("categories",), 65),
        (WORD | {"most": 5, "other": "elsewhere", "null": "category"}, ("categories",), 7),
    ],
)
def test_a_column_has_the_most_codes_that_it_may_be_learnt_to_have(column, learnt, codes):
    domain = domain_of(column)

    assert domain.learnt == tuple((0, what) for what in learnt)
    assert domain.cardinalities == (codes,)
    again = TableDomain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert again.digest() == domain.digest()


@pytest.mark.parametrize(
    ("change", "problem", "place"),
    [
        (NUMBER | {"edges": [0, 1]}, "learn-beside-edges", "/columns/0/edges"),
        (NUMBER | {"outside": "null", "null": "category"}, "learn-beside-outside", "/columns/0/outside"),
        (NUMBER | {"null": {"use": 3}}, "learn-beside-stand-in", "/columns/0/null"),
        (NUMBER | {"spacing": "log"}, "learn-beside-spacing", "/columns/0/spacing"),
        (NUMBER | {"bounds": "guess"}, "not-a-choice", "/columns/0/bounds"),
        (NUMBER | {"bins": "guess"}, "out-of-range", "/columns/0/bins"),
        (NUMBER | {"most": 2}, "out-of-range", "/columns/0/most"),
        ({**NUMBER, "bins": 5} | {"most": 9}, "unknown-key", "/columns/0/most"),
        ({"name": "x", "kind": "numeric", "type": "real", "bins": "learn"}, "missing-key", "/columns/0"),
        (WORD | {"other": False}, "learn-without-other", "/columns/0/other"),
        (WORD | {"null": {"use": "a"}}, "learn-beside-stand-in", "/columns/0/null"),
        (WORD | {"unknown": "refuse"}, "not-a-choice", "/columns/0/unknown"),
        (WORD | {"most": 0}, "out-of-range", "/columns/0/most"),
    ],
)
def test_what_cannot_be_learnt_is_refused_at_its_place(change, problem, place):
    with pytest.raises(DomainInvalid) as refused:
        domain_of(change)

    assert (refused.value.problem, refused.value.pointer) == (problem, place)


def test_rules_about_values_speak_of_declared_columns_alone():
    rule = {"kind": "at_most", "columns": ["x", "y"]}
    other = {"name": "y", "kind": "numeric", "type": "real", "lower": 0, "upper": 9}

    with pytest.raises(DomainInvalid) as refused:
        domain_of(NUMBER, other, rules=[rule])

    assert (refused.value.problem, refused.value.pointer) == ("rule-of-learnt-column", "/rules/0")
    assert "its column 'x' is learnt" in refused.value.detail


def test_no_more_is_learnt_than_one_training_can_release():
    with pytest.raises(DomainInvalid) as refused:
        domain_of(*({**NUMBER, "name": f"x{place}"} for place in range(33)))

    assert refused.value.problem == "too-much-to-learn"


@pytest.mark.parametrize("value", [1e-300, -3.25, 0.0, 9e15, 1e-9, 1e12])
def test_any_number_is_taken_in_as_it_is(value):
    found = clean_column(domain_of(NUMBER).modelled[0], pa.array([value, None, 1.0]))

    assert found.values.to_pylist()[0] == value
    assert not found.changed


def test_any_text_is_taken_in_as_it_is_and_a_very_long_one_as_other():
    domain = domain_of(WORD | {"null": "category"})
    words = ["S10", "", "ü" * 100, "x" * 201, None, "other", "category 1"]

    found = clean_column(domain.modelled[0], pa.array(words))

    assert found.values.to_pylist() == ["S10", "", "ü" * 100, "other", None, "other", "category 1"]
    assert found.values.type == storage_schema(domain).field(0).type == pa.string()
    assert {kind: mask.tolist().count(True) for kind, mask in found.changed.items()} == {"mapped-to-other": 1}
    assert not found.refused


def test_a_missing_text_is_refused_where_null_is():
    found = clean_column(domain_of(WORD).modelled[0], pa.array(["a", None]))

    assert found.refused["missing-value"].tolist() == [False, True]
