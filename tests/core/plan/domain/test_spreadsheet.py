"""Which text a spreadsheet runs, and where a declared domain holds such text."""

import pytest

from core.plan.domain.images import ImageDomain
from core.plan.domain.spreadsheet import formula_places, plain_cell, runs_as_formula
from tests.core.plan.domain.examples import table


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\tx", "\rx", "-", "-1-1", "+1;2", "=", "-1\n", "-٣"]
)
def test_text_that_may_run_gets_an_apostrophe(text: str) -> None:
    assert runs_as_formula(text)
    assert plain_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "a", "1", "-1", "+3.5", "-.5", "-1e-9", "a=b", " =1", "'=1", "2020-01-02"]
)
def test_numbers_and_other_text_stay(text: str) -> None:
    assert not runs_as_formula(text)
    assert plain_cell(text) == text


def test_the_places_in_a_domain_are_named() -> None:
    domain = table(
        {"name": "=a", "kind": "numeric", "type": "integer", "lower": -5, "upper": 5},
        {"name": "ok", "kind": "categorical", "categories": ["-1", "1"]},
        {"name": "words", "kind": "categorical", "categories": ["a", "@b"]},
        {"name": "rest", "kind": "categorical", "categories": ["a", "b"], "other": "-others-"},
        {"name": "truth", "kind": "boolean", "true": "+", "false": "no"},
    )
    assert formula_places(domain) == ("/columns/0", "/columns/2", "/columns/3", "/columns/4")
    images = {"schema": "understudy.images/1", "height": 8, "width": 8, "channels": 1, "privacy_unit": None}
    assert formula_places(ImageDomain.from_json(images | {"labels": ["=a", "b"]})) == ("/labels",)
    assert formula_places(ImageDomain.from_json(images | {"labels": ["a", "b"]})) == ()
