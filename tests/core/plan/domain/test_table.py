import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from core.plan.domain.errors import DomainInvalid, DomainUnconfirmed
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import EVERY_KIND, every_kind, table

AGE = {"name": "age", "kind": "numeric", "type": "integer", "lower": 17, "upper": 90}


def changed(column: int, **keys: object) -> dict[str, object]:
    document = copy.deepcopy(EVERY_KIND)
    document["columns"][column] |= keys  # type: ignore[index]
    return document


def test_document_round_trip_keeps_every_declared_thing():
    domain = every_kind()
    again = TableDomain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert again.digest() == domain.digest()


def test_codes_of_every_kind():
    domain = every_kind()
    assert [column.name for column in domain.modelled][-1] == "month"
    assert domain.cardinalities == (34, 30, 3, 4, 2, 2, 32, 12, 24)
    assert domain.cells == sum(domain.cardinalities)
    assert domain.target_index == 5
    assert domain.privacy_unit == "patient"


def test_ignored_and_unit_columns_are_not_modelled():
    domain = table(AGE, {"name": "x", "kind": "ignored"})
    assert [column.name for column in domain.modelled] == ["age"]
    assert domain.target_index is None


@dataclass(frozen=True)
class Names:
    """So many names of categories, made when a test runs and not when it is collected."""

    count: int

    def made(self) -> list[str]:
        return [str(number) for number in range(self.count)]


@pytest.mark.parametrize(
    ("column", "keys", "problem", "pointer"),
    [
        (0, {"lower": 99}, "bounds-reversed", "/columns/0/lower"),
        (0, {"lower": 90}, None, None),
        (0, {"lower": 17.5}, "not-an-integer", "/columns/0/lower"),
        (0, {"lower": True}, "not-a-number", "/columns/0/lower"),
        (0, {"lower": float("inf")}, "number-too-large", "/columns/0/lower"),
        (0, {"lower": 2**60}, "number-too-large", "/columns/0/lower"),
        (0, {"edges": [17, 30, 30, 90]}, "edges-not-increasing", "/columns/0/edges/2"),
        (0, {"edges": [17]}, "too-few-edges", "/columns/0/edges"),
        (0, {"edges": [17, 80]}, "edges-do-not-meet-bounds", "/columns/0/edges"),
        (0, {"edges": [17, 90], "bins": 3}, "bins-beside-edges", "/columns/0/edges"),
        (0, {"edges": 5}, "not-an-array", "/columns/0/edges"),
        (0, {"bins": 0}, "out-of-range", "/columns/0/bins"),
        (0, {"bins": 40000}, "out-of-range", "/columns/0/bins"),
        (0, {"specials": [0, 0]}, "duplicate-value", "/columns/0/specials"),
        (0, {"lower": 20, "upper": 20}, "no-values", "/columns/0/specials"),
        (0, {"type": "complex"}, "not-a-choice", "/columns/0/type"),
        (0, {"outside": "null"}, "null-has-no-place", "/columns/0/outside"),
        (0, {"null": "ignore"}, "bad-null-policy", "/columns/0/null"),
        (0, {"null": {"use": 5}}, "outside-bounds", "/columns/0/null/use"),
        (0, {"null": {}}, "missing-key", "/columns/0/null"),
        (0, {"decimals": 2}, "unknown-key", "/columns/0/decimals"),
        (0, {"multiple_of": 5}, None, None),
        (0, {"multiple_of": 0}, "bad-multiple", "/columns/0/multiple_of"),
        (0, {"multiple_of": -5}, "bad-multiple", "/columns/0/multiple_of"),
        (0, {"multiple_of": 2.5}, "bad-multiple", "/columns/0/multiple_of"),
        (0, {"multiple_of": "5"}, "not-a-number", "/columns/0/multiple_of"),
        (0, {"multiple_of": 1000}, "no-values", "/columns/0/multiple_of"),
        (1, {"multiple_of": 0.05}, None, None),
        (1, {"multiple_of": 0.005}, "bad-multiple", "/columns/1/multiple_of"),
        (2, {"multiple_of": 5}, "multiples-without-decimals", "/columns/2/multiple_of"),
        (6, {"resolution": "month_end", "patterns": ["month"]}, None, None),
        (
            6,
            {"resolution": "quarter_end", "patterns": ["month"]},
            "pattern-below-resolution",
            "/columns/6/patterns/0",
        ),
        (0, {"a/b~": 2}, "unknown-key", "/columns/0/a~1b~0"),
        (0, {"_note": "for people"}, None, None),
        (0, {"kind": "text"}, "not-a-choice", "/columns/0/kind"),
        (0, {"name": ""}, "not-text", "/columns/0/name"),
        (0, {"name": "a\nb"}, "bad-name", "/columns/0/name"),
        (1, {"name": "age"}, "duplicate-name", "/columns/1/name"),
        (1, {"upper": 0}, "bounds-reversed", "/columns/1/lower"),
        (1, {"lower": 0.001, "upper": 0.002, "null": "refuse"}, "no-values", "/columns/1/decimals"),
        (1, {"upper": 2.0**50, "decimals": 9}, "number-too-large", "/columns/1/decimals"),
        (3, {"categories": [], "other": False}, "no-values", "/columns/3/categories"),
        (3, {"categories": ["a", "a"]}, "duplicate-value", "/columns/3/categories/1"),
        (3, {"categories": ["a", None]}, "not-text", "/columns/3/categories/1"),
        (3, {"categories": ["other"]}, "duplicate-value", "/columns/3/other"),
        (3, {"other": 7}, "not-text", "/columns/3/other"),
        (3, {"other": False, "unknown": "other"}, "not-a-choice", "/columns/3/unknown"),
        (3, {"categories": Names(1_000_000)}, "too-many-codes", "/columns/3"),
        (3, {"categories": Names(999_990)}, "too-many-codes", "/columns"),
        (3, {"categories": Names(100_000)}, None, None),
        (4, {"levels": []}, "no-values", "/columns/4/levels"),
        (4, {"null": {"use": "PhD"}}, "outside-bounds", "/columns/4/null/use"),
        (5, {"true": "no"}, "duplicate-value", "/columns/5/true"),
        (6, {"lower": "01.01.2020"}, "not-a-date", "/columns/6/lower"),
        (6, {"lower": 2020}, "not-a-date", "/columns/6/lower"),
        (6, {"lower": "2021-01-01"}, "bounds-reversed", "/columns/6/lower"),
        (6, {"resolution": "hour"}, "not-a-choice", "/columns/6/resolution"),
        (6, {"format": "ISO"}, "bad-format", "/columns/6/format"),
        (6, {"format": "%d.%m.%Y"}, None, None),
        (6, {"edges": ["2020-01-01", "2020-07-01", "2020-12-31"]}, None, None),
        (7, {"lower": "2020-01-01T00:00:00+02:00"}, "not-a-date", "/columns/7/lower"),
        (8, {"null": {"use": "2030-01-01"}}, "outside-bounds", "/columns/8/null/use"),
        (10, {"name": "other"}, "privacy-unit-mismatch", "/privacy_unit"),
        (10, {"kind": "ignored"}, "privacy-unit-mismatch", "/privacy_unit"),
    ],
)
def test_every_broken_rule_has_its_word_and_place(column, keys, problem, pointer):
    made = {name: value.made() if isinstance(value, Names) else value for name, value in keys.items()}
    document = changed(column, **made)
    if problem is None:
        domain = TableDomain.from_json(document)
        assert TableDomain.from_json(domain.to_json()) == domain
        return
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(document)
    assert (caught.value.problem, caught.value.pointer) == (problem, pointer)
    assert caught.value.code == "domain-invalid"


@pytest.mark.parametrize(
    ("keys", "problem", "pointer"),
    [
        ({"schema": "understudy.domain/2"}, "not-a-choice", "/schema"),
        ({"columns": []}, "no-columns", "/columns"),
        ({"columns": [{"name": "x", "kind": "ignored"}], "privacy_unit": None, "target": None}, "no-modelled-column", "/columns"),
        ({"columns": ["age"]}, "not-an-object", "/columns/0"),
        ({"target": "ssn"}, "unknown-target", "/target"),
        ({"target": 3}, "not-text", "/target"),
        ({"privacy_unit": None}, "privacy-unit-mismatch", "/privacy_unit"),
        ({"colums": []}, "unknown-key", "/colums"),
        ({"csv": {"delimiter": "ab"}}, "bad-delimiter", "/csv/delimiter"),
        ({"csv": {"quote": "x"}}, "bad-quote", "/csv/quote"),
        ({"csv": {"header": 1}}, "not-a-boolean", "/csv/header"),
        ({"csv": {"sep": ";"}}, "unknown-key", "/csv/sep"),
    ],
)  # fmt: skip
def test_broken_rules_of_the_whole_document(keys, problem, pointer):
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(EVERY_KIND | keys)
    assert (caught.value.problem, caught.value.pointer) == (problem, pointer)


def test_something_else_than_an_object_is_refused():
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json([1])
    assert caught.value.pointer == ""


def test_a_draft_with_marks_is_refused_and_lists_them():
    document = changed(0, _from_data=["lower", "upper"])
    document["_from_data"] = []
    with pytest.raises(DomainUnconfirmed) as caught:
        TableDomain.from_json(document)
    assert caught.value.code == "domain-unconfirmed"
    assert set(caught.value.pointers) == {"/columns/0/lower", "/columns/0/upper", ""}


def test_default_bins_are_frozen_under_the_schema_version():
    # The rule is part of "understudy.domain/1": old bundles decode by it, so these numbers never change.
    domain = table(
        AGE,
        AGE | {"name": "few", "lower": 0, "upper": 4, "specials": [0]},
        AGE | {"name": "log", "lower": 0, "upper": 99999, "spacing": "log", "bins": 6},
        {"name": "real", "kind": "numeric", "type": "real", "lower": -1, "upper": 1, "bins": 4},
    )
    age, few, log, real = domain.modelled
    assert age.bins.lows[:6].tolist() == [17, 19, 21, 23, 26, 28]  # type: ignore[union-attr]
    assert few.bins.lows.tolist() == [1, 2, 3, 4]  # type: ignore[union-attr]
    assert log.bins.lows.tolist() == [0, 5, 45, 315, 2153, 14677]  # type: ignore[union-attr]
    assert real.bins.lows.tolist() == [-1, -0.5, 0, 0.5]  # type: ignore[union-attr]


PATIENT = {"name": "patient", "kind": "unit"}


def test_the_unit_column_may_say_how_many_records_of_a_unit_count():
    plain = table(AGE, PATIENT, privacy_unit="patient")
    bounded = table(AGE, PATIENT | {"records": 4}, privacy_unit="patient")
    assert (plain.records_per_unit, bounded.records_per_unit, table(AGE).records_per_unit) == (None, 4, None)
    assert TableDomain.from_json(json.loads(json.dumps(bounded.to_json()))) == bounded
    assert "records" not in plain.to_json()["columns"][1]
    assert plain.digest() != bounded.digest()


@pytest.mark.parametrize("records", [0, 1001, 2.5, True, "4"])
def test_a_bound_on_records_is_a_whole_number_in_range(records):
    with pytest.raises(DomainInvalid) as refused:
        table(AGE, PATIENT | {"records": records}, privacy_unit="patient")
    assert refused.value.pointer == "/columns/1/records"


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (lambda document: document.update(target="agee"), "Did you mean 'age'? Name a column"),
        (lambda document: document["columns"][0].update(kind="numerc"), "Did you mean 'numeric'?"),
        (lambda document: document["columns"][0].update(lowr=1), "Did you mean 'lower'? Check the spelling"),
        (
            lambda document: document["columns"][0].update(uper=document["columns"][0].pop("upper")),
            "Add 'upper', or rename 'uper' to it.",
        ),
    ],
)
def test_a_misspelt_key_or_word_is_recognised(
    change: Callable[[dict[str, Any]], object], remedy: str
) -> None:
    age = {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 110}
    document: dict[str, Any] = {"schema": "understudy.domain/1", "privacy_unit": None, "columns": [age]}
    change(document)
    with pytest.raises(DomainInvalid) as refused:
        TableDomain.from_json(document)
    assert refused.value.remedy.startswith(remedy)


def test_a_decimal_comma_is_declared_and_a_point_changes_no_digest() -> None:
    with_point = TableDomain.from_json(EVERY_KIND | {"csv": {"decimal_mark": "."}})
    assert with_point.digest() == TableDomain.from_json(EVERY_KIND | {"csv": {}}).digest()
    with_comma = TableDomain.from_json(EVERY_KIND | {"csv": {"decimal_mark": ","}})
    assert with_comma.to_json()["csv"]["decimal_mark"] == ","  # type: ignore[index]
    assert TableDomain.from_json(with_comma.to_json()) == with_comma
    with pytest.raises(DomainInvalid, match="decimal_mark"):
        TableDomain.from_json(EVERY_KIND | {"csv": {"decimal_mark": ";"}})


def test_an_encoding_is_declared_and_utf_8_changes_no_digest() -> None:
    utf8 = TableDomain.from_json(EVERY_KIND | {"csv": {"encoding": "utf-8"}})
    assert utf8.digest() == TableDomain.from_json(EVERY_KIND | {"csv": {}}).digest()
    for encoding in ("windows-1252", "iso-8859-15", "utf-16"):
        declared = TableDomain.from_json(EVERY_KIND | {"csv": {"encoding": encoding}})
        assert declared.to_json()["csv"]["encoding"] == encoding  # type: ignore[index]
        assert TableDomain.from_json(declared.to_json()) == declared
    for other in ("latin-1", "Windows-1252", "utf-8-sig", "utf-7", None):
        with pytest.raises(DomainInvalid, match="encoding"):
            TableDomain.from_json(EVERY_KIND | {"csv": {"encoding": other}})
