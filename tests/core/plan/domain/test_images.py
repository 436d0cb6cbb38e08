"""Domains of images: what may be declared, and which word every broken rule has."""

import json

import pytest

from core.plan.domain.declared import domain_from_json
from core.plan.domain.errors import DomainInvalid, DomainUnconfirmed
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import EVERY_KIND

DIGITS: dict[str, object] = {
    "schema": "understudy.images/1",
    "height": 28,
    "width": 20,
    "channels": 3,
    "labels": ["0", "1", "2"],
    "privacy_unit": "writer",
}


def test_document_round_trip_keeps_every_declared_thing():
    domain = ImageDomain.from_json(DIGITS)
    again = ImageDomain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert again.digest() == domain.digest()
    assert domain.to_json() == DIGITS
    assert domain.values == 28 * 20 * 3


def test_the_unit_may_be_left_out_and_labels_may_be_empty():
    domain = ImageDomain.from_json({**DIGITS, "labels": [], "privacy_unit": None})
    assert (domain.labels, domain.privacy_unit) == ((), None)
    assert (
        ImageDomain.from_json({key: v for key, v in DIGITS.items() if key != "privacy_unit"}).privacy_unit
        is None
    )


def test_the_schema_says_of_which_kind_a_domain_is():
    assert domain_from_json(DIGITS) == ImageDomain.from_json(DIGITS)
    assert domain_from_json(EVERY_KIND) == TableDomain.from_json(EVERY_KIND)


@pytest.mark.parametrize(
    ("keys", "problem", "pointer"),
    [
        ({"schema": "understudy.sounds/1"}, "not-a-choice", "/schema"),
        ({"height": 3}, "out-of-range", "/height"),
        ({"width": 257}, "out-of-range", "/width"),
        ({"width": "28"}, "out-of-range", "/width"),
        ({"width": None}, "missing-key", ""),
        ({"channels": 2}, "not-a-choice", "/channels"),
        ({"channels": True}, "out-of-range", "/channels"),
        ({"channels": None}, "not-a-choice", "/channels"),
        ({"labels": "abc"}, "not-an-array", "/labels"),
        ({"labels": ["a", "a"]}, "duplicate-value", "/labels/1"),
        ({"labels": ["a"]}, "too-few-labels", "/labels"),
        ({"privacy_unit": "label"}, "bad-name", "/privacy_unit"),
        ({"privacy_unit": "file"}, "bad-name", "/privacy_unit"),
        ({"privacy_unit": "pixels"}, "bad-name", "/privacy_unit"),
        ({"labels": ["a", ""]}, "bad-name", "/labels/1"),
        ({"labels": ["a", "b\n"]}, "bad-name", "/labels/1"),
        ({"labels": [str(code) for code in range(1001)]}, "too-many-labels", "/labels"),
        ({"privacy_unit": 5}, "not-text", "/privacy_unit"),
        ({"privacy_unit": "a\tb"}, "bad-name", "/privacy_unit"),
        ({"depth": 8}, "unknown-key", "/depth"),
    ],
)  # fmt: skip
def test_every_broken_rule_has_its_word_and_place(keys: dict[str, object], problem: str, pointer: str):
    with pytest.raises(DomainInvalid) as caught:
        domain_from_json({**DIGITS, **keys})
    assert (caught.value.problem, caught.value.pointer) == (problem, pointer)


def test_a_draft_is_refused_until_its_marks_are_gone():
    with pytest.raises(DomainUnconfirmed) as caught:
        domain_from_json({**DIGITS, "_from_data": ["labels"]})
    assert caught.value.pointers == ("/labels",)
