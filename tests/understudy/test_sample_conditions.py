"""Conditions of samples as they are written on the command line."""

from typing import Any

import pytest

from core.artifacts.sampling.value_conditions import requested_conditions
from core.plan.domain.table import TableDomain
from understudy.dummies.drawing import dummy_file
from understudy.errors import InputUnusable
from understudy.sample_conditions import parse_conditions


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["age=65"], {"age": 65}),
        (["sick=yes", "ward=null"], {"sick": "yes", "ward": None}),
        (["age>=65"], {"age": {"from": 65}}),
        (["age >= 65", "age < 80"], {"age": {"from": 65, "below": 80}}),
        (["age>65", "age<=80"], {"age": {"above": 65, "to": 80}}),
        (["date >= 2024-01-01"], {"date": {"from": "2024-01-01"}}),
        (["date in 2024-01..2024-03"], {"date": {"from": "2024-01", "to": "2024-03"}}),
        (["date in 2024.."], {"date": {"from": 2024}}),
        (["fee in ..2.5"], {"fee": {"to": "2.5"}}),
        (["fee=1.5", "part=1.10"], {"fee": "1.5", "part": "1.10"}),
        (
            ["seen=1.0", "code=1e5", "well=true", "place=007"],
            {"seen": "1.0", "code": "1e5", "well": "true", "place": "007"},
        ),
        (["part in 1.10,1"], {"part": ["1.10", 1]}),
        (['part="null"', "level=-3"], {"part": "null", "level": -3}),
        (["ward in A, B"], {"ward": ["A", "B"]}),
        (["level in 1,2"], {"level": [1, 2]}),
        (['ward=["A, north", "B"]'], {"ward": ["A, north", "B"]}),
        (["text=a..b"], {"text": "a..b"}),
        (["text=x in y"], {"text": "x in y"}),
        (["text=a>=b"], {"text": "a>=b"}),
        (["time in days=3"], {"time in days": 3}),
        (["hba1c<7=yes"], {"hba1c<7": "yes"}),
        (["a b.difference>3"], {"a b.difference": {"above": 3}}),
    ],
    ids=str,
)
def test_values_lists_and_ranges_are_read(words: list[str], found: dict[str, Any]) -> None:
    assert parse_conditions(words) == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["age"], "--where takes COLUMN=VALUE"),
        (["=3"], "--where takes COLUMN=VALUE"),
        (["age>"], "--where takes COLUMN=VALUE"),
        (["age in"], "--where takes COLUMN=VALUE"),
        (["age=3", "age=4"], "--where age is given twice"),
        (["age>3", "age>4"], "--where age is given twice"),
        (["age>3", "age=4"], "--where age is given twice"),
        (["age=4", "age>3"], "--where age is given twice"),
    ],
    ids=str,
)
def test_what_is_none_of_them_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(InputUnusable, match=said):
        parse_conditions(words)


CODES: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": None,
    "privacy_unit": None,
    "columns": [
        {"name": "code", "kind": "categorical", "categories": ["1.0", "1.1", "1.10", "1e5", "true"]},
        {"name": "fee", "kind": "numeric", "type": "real", "decimals": 1, "lower": 0, "upper": 3},
    ],
}


@pytest.mark.parametrize("word", ["1.0", "1.1", "1.10", "1e5", "true"])
def test_words_that_look_like_json_stay_words(word: str) -> None:
    domain = TableDomain.from_json(CODES)
    for words in ([f"code={word}"], [f"code in {word}"]):
        where = parse_conditions(words)
        assert requested_conditions(where, domain)
        lines = dummy_file(CODES, rows=20, file_format="csv", where=where).decode().splitlines()
        assert {line.partition(",")[0] for line in lines[1:]} == {word}


@pytest.mark.parametrize(
    ("words", "low", "high"),
    [(["fee=1.5"], 1.5, 1.5), (["fee>=1.5", "fee<2.0"], 1.5, 1.9), (["fee in 0.5..1.5"], 0.5, 1.5), (["fee in 1.5,1.5"], 1.5, 1.5)],
    ids=str,
)  # fmt: skip
def test_numbers_are_read_as_the_column_reads_them(words: list[str], low: float, high: float) -> None:
    where = parse_conditions(words)
    assert requested_conditions(where, TableDomain.from_json(CODES))
    lines = dummy_file(CODES, rows=20, file_format="csv", where=where).decode().splitlines()
    assert all(low <= float(line.partition(",")[2]) <= high for line in lines[1:])
