"""Forbidden cells of two-way tables, against every row that there can be."""

import itertools
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.plan.domain.codec import codes_of
from core.plan.domain.errors import DomainInvalid
from core.plan.domain.forbidden import LARGEST_TABLE, forbidden_by_rule, forbidden_pairs
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.ruled import TOGETHER, broken, day, document, flag, moment, number, words
from tests.core.plan.domain.test_keeping import COLUMNS, drawn, rules

SMALL = [
    number("a", 0, 8, bins=3, specials=[4, 20]),
    number("b", -2, 7, bins=4, null="category"),
    number("c", 0, 12, bins=5),
    number("e", 2, 5, bins=2),
    words("w", "A", "B", null="category"),
    flag("t"),
]
VALUES: dict[str, list[Any]] = {
    "a": [*range(9), 20],
    "b": [*range(-2, 8), None],
    "c": [*range(13)],
    "e": [2, 3, 4, 5],
    "w": ["A", "B", None],
    "t": [False, True],
}
ONE_RULE: list[dict[str, Any]] = [
    {"kind": "at_most", "columns": ["a", "b"]},
    {"kind": "at_most", "columns": ["c", "e"]},
    {"kind": "sum", "parts": ["e", "c"], "total": "a"},
    {"kind": "sum", "parts": ["c", "e"], "total": "b", "tolerance": 1},
    {"kind": "sum", "parts": ["a", "b"], "total": "c"},
    {"kind": "null_together", "columns": ["b", "w"]},
    {"kind": "exactly_one", "columns": ["t", "w"], "set": [True, "A"]},
    {"kind": "exactly_one", "columns": ["t", "w", "a"], "set": [True, "A", 3]},
    {"kind": "exactly_one", "columns": ["a", "e"], "set": 4},
    {"kind": "determines", "columns": ["a", "w"], "pairs": [[{"to": 3}, "A"], [4, "B"], [{"from": 5}, None]]},
    {"kind": "determines", "columns": ["w", "a"], "pairs": [["A", 4], ["B", 2], [None, 20]]},
    {"kind": "determines", "columns": ["e", "c"], "pairs": [[2, 3], [3, 11], [4, 4]]},
    {"kind": "impossible", "columns": ["a", "w"], "combinations": [[{"to": 2}, "A"], [{"one_of": [4, 20]}, None]]},
    {"kind": "impossible", "columns": ["a", "e"], "combinations": [[{"to": 1}, {"to": 3}], [2, {"to": 3}], [0, 5]]},
    {
        "kind": "impossible",
        "columns": ["a", "w", "t"],
        "combinations": [[{"from": 6}, "A", True], [{"from": 5}, {"one_of": ["A", "B"]}, False]],
    },
    {"kind": "possible", "columns": ["b", "w", "t"], "combinations": [[{"to": 0}, "A", True], [None, "B", False]]},
    {"kind": "possible", "columns": ["c", "a"], "combinations": [[{"from": 5, "to": 6}, {"from": 3, "to": 5}]]},
]  # fmt: skip


@pytest.mark.parametrize(
    "rule", ONE_RULE, ids=lambda rule: f"{rule['kind']}-{'-'.join(rule.get('columns', rule.get('parts')))}"
)
def test_a_cell_is_forbidden_if_and_only_if_no_row_of_its_codes_keeps_the_rule(rule: dict[str, Any]) -> None:
    names = rule.get("columns") or [*rule["parts"], rule["total"]]
    columns = [column for column in SMALL if column["name"] in names]
    found = document(columns, [rule])
    domain = TableDomain.from_json(found)
    own = [column["name"] for column in columns]
    rows = list(itertools.product(*(VALUES[name] for name in own)))
    kept = [row for row in rows if not broken(found, dict(zip(own, row, strict=True)))]
    words_ = [VALUES[name] if isinstance(VALUES[name][0], (bool, str)) else None for name in own]
    numbers = [
        np.array(
            [np.nan if value is None else listed.index(value) if listed else value for value in column], float
        )
        for column, listed in zip(zip(*kept, strict=True), words_, strict=True)
    ]
    codes = codes_of(domain, numbers)
    expected = {}
    for first, second in itertools.combinations(range(len(own)), 2):
        empty = np.ones((domain.cardinalities[first], domain.cardinalities[second]), dtype=bool)
        empty[codes[:, first], codes[:, second]] = False
        if empty.any():
            expected[first, second] = empty
    forbidden = forbidden_pairs(domain)
    assert forbidden.keys() == expected.keys()
    for pair, cells in forbidden.items():
        assert np.array_equal(cells, expected[pair]), pair


@pytest.mark.parametrize("order", [("born", "seen"), ("seen", "born")])
def test_of_a_date_and_a_time_those_cells_are_forbidden_that_no_days_allow(order: tuple[str, str]) -> None:
    columns = [
        day("born", "2020-01-01", "2020-01-08", bins=5, null="category"),
        moment("seen", "2020-01-02T17:00:00", "2020-01-06T05:00:00", resolution="hour", bins=7),
    ]
    domain = TableDomain.from_json(document(columns, [{"kind": "at_most", "columns": list(order)}]))
    first, moments = date(2020, 1, 1), range(17, 17 + 4 * 24 - 12 + 1)
    days = [*range(8), None]
    kept = [
        (born, hour)
        for born, hour in itertools.product(days, moments)
        if born is None or (born <= 1 + hour // 24 if order[0] == "born" else 1 + hour // 24 <= born)
    ]
    epoch = first.toordinal() - date(1970, 1, 1).toordinal()
    numbers = [
        np.array([np.nan if born is None else epoch + born for born, _ in kept]),
        np.array([(epoch + 1) * 86400.0 + hour * 3600 for _, hour in kept]),
    ]
    codes = codes_of(domain, numbers)
    empty = np.ones(domain.cardinalities, dtype=bool)
    empty[codes[:, 0], codes[:, 1]] = False
    assert 0 < empty.sum() < empty.size
    assert np.array_equal(forbidden_pairs(domain)[0, 1], empty)


@settings(max_examples=50, deadline=None)
@given(st.lists(rules(), min_size=1, max_size=4), st.integers(0, 2**32))
def test_no_kept_row_lies_in_a_forbidden_cell(declared: list[dict[str, Any]], seed: int) -> None:
    try:
        domain = TableDomain.from_json(document(COLUMNS, declared))
    except DomainInvalid:
        return
    codes = codes_of(domain, drawn(domain, 1000, seed))
    for (first, second), cells in forbidden_pairs(domain).items():
        assert first < second
        assert cells.shape == (domain.cardinalities[first], domain.cardinalities[second])
        assert not cells[codes[:, first], codes[:, second]].any()


def test_a_table_without_rules_forbids_nothing() -> None:
    assert forbidden_pairs(TableDomain.from_json(document(SMALL, []))) == {}


def test_of_tables_that_nobody_measures_nothing_is_said() -> None:
    many = [str(place) for place in range(5000)]
    pairs = [[word, word] for word in many]
    found = document(
        [words("v", *many), words("w", *many)],
        [{"kind": "determines", "columns": ["v", "w"], "pairs": pairs}],
    )
    assert LARGEST_TABLE < 5000**2
    assert forbidden_pairs(TableDomain.from_json(found)) == {}


def test_each_rule_forbids_its_own_cells_and_together_they_forbid_all() -> None:
    domain = TableDomain.from_json(TOGETHER)
    by_rule = list(forbidden_by_rule(domain))
    assert len(by_rule) == len(domain.rules)
    together: dict[tuple[int, int], np.ndarray] = {}
    for place, by_pair in enumerate(by_rule):
        alone = TableDomain.from_json(TOGETHER | {"rules": [TOGETHER["rules"][place]]})
        expected = forbidden_pairs(alone)
        assert by_pair.keys() == expected.keys()
        for pair, cells in by_pair.items():
            assert np.array_equal(cells, expected[pair])
            together[pair] = together.get(pair, np.zeros_like(cells)) | cells
    assert together.keys() == forbidden_pairs(domain).keys()
    for pair, cells in forbidden_pairs(domain).items():
        assert np.array_equal(cells, together[pair])
