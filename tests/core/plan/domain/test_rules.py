"""Rules in the domain document: read, written, refused."""

import copy
import json
from typing import Any

import pytest

from core.plan.domain.errors import DomainInvalid
from core.plan.domain.rules.reading import MAXIMUM_ENTRIES, MAXIMUM_RULES
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import EVERY_KIND, every_kind
from tests.core.plan.domain.ruled import ALL, EVERY_RULE, day, document, flag, number, real, words


@pytest.mark.parametrize("name", ALL)
def test_document_round_trip_keeps_every_rule(name: str) -> None:
    domain = TableDomain.from_json(ALL[name])
    again = TableDomain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert again.digest() == domain.digest()
    assert again.to_json() == domain.to_json()
    assert len(again.rules) == len(ALL[name]["rules"])


def test_rules_are_written_with_their_defaults() -> None:
    columns = [
        {"name": "level", "kind": "ordinal", "levels": ["low", "high"], "null": "category"}, day("d"), flag("f"), flag("g"),
        real("x", decimals=1), real("y"), real("z"),
    ]  # fmt: skip
    rules = [
        {"kind": "impossible", "columns": ["level", "d"], "combinations": [[{"one_of": [None, "low"]}, {"from": "2020-03-01"}]]},
        {"kind": "exactly_one", "columns": ["f", "g"]},
        {"kind": "sum", "parts": ["x", "y"], "total": "z"},
        {"kind": "determines", "columns": ["f", "x"], "pairs": [[True, 0.5], ["false", 7]]},
    ]  # fmt: skip
    written = TableDomain.from_json(document(columns, rules)).to_json()["rules"]
    assert written == [
        rules[0] | {"combinations": [[{"one_of": ["low", None]}, {"from": "2020-03-01"}]]},
        rules[1] | {"set": ["true", "true"]},
        rules[2] | {"tolerance": 0},
        rules[3] | {"pairs": [["true", 0.5], ["false", 7]]},
    ]


def test_documents_without_rules_keep_their_bytes_and_digest() -> None:
    domain = every_kind()
    assert domain.digest() == "232f63ae0af531d870f757a8c3887721de8b23cd808b5f430df2a520617e5c45"
    assert "rules" not in domain.to_json()
    assert TableDomain.from_json(EVERY_KIND | {"rules": []}).digest() == domain.digest()
    assert domain.kept is None


def test_rules_change_the_digest() -> None:
    found = EVERY_RULE["at_most"]
    without = TableDomain.from_json(found | {"rules": []})
    assert TableDomain.from_json(found).digest() != without.digest()


COLUMNS = [
    number("n", 0, 20, specials=[99]),
    number("m", 30, 40),
    number("k", 0, 20),
    real("x", decimals=1),
    words("w", "A", "B", null="category"),
    words("only", "A"),
    flag("t"),
    day("d", "2020-01-01", "2020-12-31", resolution="month"),
    {"name": "time", "kind": "datetime", "lower": "2020-01-01", "upper": "2020-12-31"},
    {"name": "ssn", "kind": "ignored"},
]
PAIR: dict[str, Any] = {"kind": "impossible", "columns": ["n", "w"], "combinations": [[1, "A"]]}


def lasting(*columns: str) -> dict[str, Any]:
    return {"kind": "duration", "columns": list(columns), "unit": "day"}


def first(*values: object) -> dict[str, Any]:
    return PAIR | {"combinations": [list(values)]}


@pytest.mark.parametrize(
    ("rule", "problem", "pointer"),
    [
        ("a <= b", "not-an-object", "/rules/0"),
        ({"kind": "equal"}, "not-a-choice", "/rules/0/kind"),
        (PAIR | {"note": 1}, "unknown-key", "/rules/0/note"),
        (PAIR | {"_note": 1}, None, None),
        (PAIR | {"columns": ["n", "nobody"]}, "unknown-column", "/rules/0/columns/1"),
        (PAIR | {"columns": ["n", "ssn"]}, "unknown-column", "/rules/0/columns/1"),
        (PAIR | {"columns": ["n", "n"]}, "duplicate-value", "/rules/0/columns/1"),
        (PAIR | {"columns": ["n"]}, "wrong-number-of-columns", "/rules/0/columns"),
        (PAIR | {"combinations": []}, "no-values", "/rules/0/combinations"),
        (PAIR | {"combinations": [[1, "A"]] * (MAXIMUM_ENTRIES + 1)}, "rule-too-large", "/rules/0/combinations"),
        (PAIR | {"combinations": [[1]]}, "wrong-number-of-values", "/rules/0/combinations/0"),
        (first(1, "C"), "unknown-value", "/rules/0/combinations/0/1"),
        (first("one", "A"), "not-a-number", "/rules/0/combinations/0/0"),
        (first(True, "A"), "not-a-number", "/rules/0/combinations/0/0"),
        (first(None, "A"), "null-has-no-place", "/rules/0/combinations/0/0"),
        (first(21, "A"), "outside-bounds", "/rules/0/combinations/0/0"),
        (first(99, None), None, None),
        (first(0.5, "A"), "outside-bounds", "/rules/0/combinations/0/0"),
        (first({"from": 5}, "A"), None, None),
        (first({"from": 21}, "A"), "no-values", "/rules/0/combinations/0/0"),
        (first({"from": 5.2, "to": 5.8}, "A"), "no-values", "/rules/0/combinations/0/0"),
        (first({}, "A"), "missing-key", "/rules/0/combinations/0/0"),
        (first({"from": 1, "until": 2}, "A"), "unknown-key", "/rules/0/combinations/0/0/until"),
        (first({"one_of": []}, "A"), "no-values", "/rules/0/combinations/0/0/one_of"),
        (first({"one_of": [1, 50]}, "A"), "outside-bounds", "/rules/0/combinations/0/0/one_of/1"),
        (first(1, {"from": "A"}), "not-comparable", "/rules/0/combinations/0/1/from"),
        (PAIR | {"columns": ["n", "d"], "combinations": [[1, "2020-02-01"]]}, None, None),
        (PAIR | {"columns": ["n", "d"], "combinations": [[1, "2020-02-02"]]}, "outside-bounds", "/rules/0/combinations/0/1"),
        (PAIR | {"columns": ["n", "d"], "combinations": [[1, "soon"]]}, "not-a-date", "/rules/0/combinations/0/1"),
        ({"kind": "at_most", "columns": ["n", "m"]}, None, None),
        ({"kind": "at_most", "columns": ["m", "n"]}, None, None),
        ({"kind": "at_most", "columns": ["m", "k"]}, "rule-unsatisfiable", "/rules/0"),
        ({"kind": "at_most", "columns": ["n", "w"]}, "not-comparable", "/rules/0/columns"),
        ({"kind": "at_most", "columns": ["d", "time"]}, None, None),
        ({"kind": "at_most", "columns": ["time", "d"]}, None, None),
        ({"kind": "at_most", "columns": ["n", "d"]}, "not-comparable", "/rules/0/columns"),
        ({"kind": "at_most", "columns": ["time", "n"]}, "not-comparable", "/rules/0/columns"),
        ({"kind": "at_most", "columns": ["n", "m", "x"]}, "wrong-number-of-columns", "/rules/0/columns"),
        ({"kind": "sum", "parts": ["n", "m"], "total": "x"}, None, None),
        ({"kind": "sum", "parts": ["n", "m"], "total": "m"}, "duplicate-value", "/rules/0/total"),
        ({"kind": "sum", "parts": ["n", "m"], "total": "y"}, "unknown-column", "/rules/0/total"),
        ({"kind": "sum", "parts": ["n", "d"], "total": "x"}, "not-comparable", "/rules/0/parts"),
        ({"kind": "sum", "parts": ["n", "m"], "total": "x", "tolerance": -1}, "out-of-range", "/rules/0/tolerance"),
        ({"kind": "sum", "parts": ["n", "m"], "total": "x", "tolerance": "0"}, "not-a-number", "/rules/0/tolerance"),
        ({"kind": "sum", "parts": ["n", "m"], "total": "x", "computed": "m"}, None, None),
        ({"kind": "sum", "parts": ["n", "m"], "total": "x", "computed": "k"}, "unknown-column", "/rules/0/computed"),
        ({"kind": "sum", "parts": ["n", "m"], "total": "x", "computed": 0}, "not-text", "/rules/0/computed"),
        ({"kind": "sum", "parts": ["n", "m"], "total": "x", "computed": None}, "not-text", "/rules/0/computed"),
        (lasting("d", "time", "n"), None, None),
        (lasting("d", "time", "n") | {"unit": "year"}, None, None),
        (lasting("d", "time"), "wrong-number-of-columns", "/rules/0/columns"),
        (lasting("d", "time", "n", "k"), "wrong-number-of-columns", "/rules/0/columns"),
        (lasting("d", "n", "k"), "not-comparable", "/rules/0/columns"),
        (lasting("d", "time", "x"), "not-comparable", "/rules/0/columns"),
        (lasting("d", "time", "w"), "not-comparable", "/rules/0/columns"),
        (lasting("d", "time", "n") | {"unit": "hour"}, "not-comparable", "/rules/0/unit"),
        (lasting("d", "time", "n") | {"unit": "week"}, "not-a-choice", "/rules/0/unit"),
        ({"kind": "duration", "columns": ["d", "time", "n"]}, "missing-key", "/rules/0"),
        ({"kind": "null_together", "columns": ["w", "t"]}, "null-has-no-place", "/rules/0/columns/1"),
        ({"kind": "exactly_one", "columns": ["w", "t"]}, "missing-key", "/rules/0"),
        ({"kind": "exactly_one", "columns": ["w", "t"], "set": ["A", True]}, None, None),
        ({"kind": "exactly_one", "columns": ["w", "t"], "set": [None, True]}, "bad-value", "/rules/0/set/0"),
        ({"kind": "exactly_one", "columns": ["w", "t"], "set": ["A"]}, "wrong-number-of-values", "/rules/0/set"),
        ({"kind": "exactly_one", "columns": ["w", "only"], "set": "A"}, "no-values", "/rules/0/set"),
        ({"kind": "determines", "columns": ["n", "w"], "pairs": [[1, "A"], [{"from": 2}, "B"], [99, None]]}, None, None),
        ({"kind": "determines", "columns": ["n", "w"], "pairs": [[3, "A"], [{"from": 2}, "B"]]}, "duplicate-value", "/rules/0/pairs/0/0"),
        ({"kind": "determines", "columns": ["w", "n"], "pairs": [[None, 1], [None, 1]]}, "duplicate-value", "/rules/0/pairs/1/0"),
        ({"kind": "determines", "columns": ["n", "w"], "pairs": {"1": "A"}}, "not-an-array", "/rules/0/pairs"),
        ({"kind": "determines", "columns": ["n", "w"], "pairs": [[1, {"one_of": ["A"]}]]}, "unknown-value", "/rules/0/pairs/0/1"),
        (PAIR | {"combinations": [[{"from": 0}, {"one_of": ["A", "B", None]}], [99, {"one_of": ["A", "B", None]}]]}, "rule-unsatisfiable", "/rules/0"),
    ],
)  # fmt: skip
def test_every_wrong_rule_has_its_word_and_place(
    rule: object, problem: str | None, pointer: str | None
) -> None:
    found = document(COLUMNS, [rule])  # type: ignore[list-item]
    if problem is None:
        assert TableDomain.from_json(found).rules
        return
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(found)
    assert (caught.value.problem, caught.value.pointer) == (problem, pointer)
    assert caught.value.code == "domain-invalid"


LASTING = [*(day(name) for name in "pq"), *(number(name, 0, 100) for name in "abcu"),
    number("g", 0, 200, difference={"from": "b", "lower": 0, "upper": 50}), words("w", "A", "B"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "problem", "place"),
    [
        ([lasting("p", "q", "a")], None, 0),
        ([lasting("p", "q", "u")], "computed-target", 0),
        ([lasting("p", "q", "b")], "computed-difference", 0),
        ([lasting("p", "q", "g")], "computed-difference", 0),
        ([lasting("p", "q", "a"), lasting("q", "p", "a")], "computed-twice", 0),
        ([{"kind": "sum", "parts": ["a", "u"], "total": "c"}, lasting("p", "q", "c")], "computed-twice", 1),
        ([{"kind": "sum", "parts": ["a", "u"], "total": "c"}, lasting("p", "q", "a")], None, 0),
        ([{"kind": "determines", "columns": ["w", "a"], "pairs": [["A", 1]]}, lasting("p", "q", "a")], "computed-twice", 1),
        ([{"kind": "determines", "columns": ["a", "w"], "pairs": [[1, "A"]]}, lasting("p", "q", "a")], None, 0),
    ],
)  # fmt: skip
def test_a_duration_computes_what_nothing_else_needs(
    rules: list[dict[str, Any]], problem: str | None, place: int
) -> None:
    found = document(LASTING, rules, target="u")
    if problem is None:
        assert len(TableDomain.from_json(found).rules) == len(rules)
        return
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(found)
    assert (caught.value.problem, caught.value.pointer) == (problem, f"/rules/{place}/columns/2")


SUMMED = [
    *(number(name, 0, 100) for name in "abcdefu"),
    number("g", 0, 200, difference={"from": "f", "lower": 0, "upper": 50}),
    words("w", "A", "B"),
]


def summed(parts: str, total: str, computed: str | None = None) -> dict[str, Any]:
    rule = {"kind": "sum", "parts": list(parts), "total": total}
    return rule if computed is None else rule | {"computed": computed}


CODES = {"kind": "determines", "columns": ["w", "a"], "pairs": [["A", 1], ["B", 2]]}


@pytest.mark.parametrize(
    ("rules", "problem", "pointer"),
    [
        ([summed("ab", "c", "u")], "unknown-column", "/rules/0/computed"),
        ([summed("au", "c", "u")], "computed-target", "/rules/0/computed"),
        ([summed("au", "c", "a")], None, None),
        ([summed("af", "c", "f")], "computed-difference", "/rules/0/computed"),
        ([summed("af", "g", "g")], "computed-difference", "/rules/0/computed"),
        ([summed("af", "c", "a")], None, None),
        ([CODES, summed("ab", "c", "a")], "computed-twice", "/rules/1/computed"),
        ([CODES, summed("ab", "c", "b")], None, None),
        ([summed("ab", "c", "b"), summed("bd", "e", "b")], "computed-too-late", "/rules/1/computed"),
        ([summed("ab", "c", "b"), summed("bd", "e", "d")], None, None),
        ([summed("bd", "e", "d"), summed("ab", "c", "b")], "computed-too-late", "/rules/1/computed"),
        ([summed("ce", "d", "d"), summed("ab", "c")], "computed-too-late", "/rules/1"),
        ([summed("ab", "c"), summed("ce", "d", "e")], None, None),
        ([summed("ce", "d"), summed("ab", "c")], None, None),
    ],
)  # fmt: skip
def test_a_sum_computes_what_no_other_rule_needs_before(
    rules: list[dict[str, Any]], problem: str | None, pointer: str | None
) -> None:
    """Where no sum says what it computes, everything is as it always was."""
    found = document(SUMMED, rules, target="u")
    if problem is None:
        assert len(TableDomain.from_json(found).rules) == len(rules)
        return
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(found)
    assert (caught.value.problem, caught.value.pointer) == (problem, pointer)
    assert caught.value.remedy


def test_what_a_sum_computes_is_written_where_it_was_declared_alone() -> None:
    declared = [summed("ab", "c"), summed("ad", "e", "d"), summed("bf", "u", "u")]
    domain = TableDomain.from_json(document(SUMMED[:-2], declared))
    assert domain.to_json()["rules"] == [rule | {"tolerance": 0} for rule in declared]
    assert domain.kept is not None
    told = [rule.get("computed") for rule in domain.kept.data["rules"]]
    assert told == [None, 1, 2], "what stands in the script of a bundle"


@pytest.mark.parametrize(
    ("rule", "column"),
    [
        (PAIR | {"columns": ["n", "nobody"]}, "nobody"),
        ({"kind": "sum", "parts": ["n", "d"], "total": "x"}, "d"),
        ({"kind": "null_together", "columns": ["w", "t"]}, "t"),
    ],
)
def test_a_wrong_rule_names_the_column_that_is_wrong(rule: dict[str, Any], column: str) -> None:
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(document(COLUMNS, [rule]))
    assert f"'{column}'" in f"{caught.value.detail} {caught.value.remedy}"


def test_rules_that_contradict_each_other_are_refused() -> None:
    rules = [
        {"kind": "at_most", "columns": ["n", "x"]},
        {"kind": "impossible", "columns": ["n", "x"], "combinations": [[{"from": 0}, {"from": 10}]]},
        {"kind": "possible", "columns": ["n", "w"], "combinations": [[{"from": 11}, "A"]]},
    ]
    for fewer in ([0, 1], [0, 2], [1, 2]):
        assert TableDomain.from_json(document(COLUMNS, [rules[place] for place in fewer])).rules
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(document(COLUMNS, rules))
    assert (caught.value.problem, caught.value.pointer) == ("rules-unsatisfiable", "/rules")


def test_too_many_rules_are_refused() -> None:
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(document(COLUMNS, [PAIR] * (MAXIMUM_RULES + 1)))
    assert (caught.value.problem, caught.value.pointer) == ("too-many-rules", "/rules")


def test_combinations_that_tell_too_many_cases_apart_are_refused() -> None:
    columns = [words(name, *map(str, range(200))) for name in "abc"]
    rule = {
        "kind": "possible",
        "columns": ["a", "b", "c"],
        "combinations": [[str(i)] * 3 for i in range(200)],
    }
    with pytest.raises(DomainInvalid) as caught:
        TableDomain.from_json(document(columns, [rule]))
    assert (caught.value.problem, caught.value.pointer) == ("rule-too-large", "/rules/0")


def test_whether_a_domain_is_accepted_does_not_hang_on_chance() -> None:
    """The witness is found with a fixed seed."""
    found = ALL["together"]
    one, other = (TableDomain.from_json(copy.deepcopy(found)).kept for _ in range(2))
    assert one is not None
    assert other is not None
    assert one.data == other.data
    assert one.data["witness"] is not None
