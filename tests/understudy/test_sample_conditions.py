"""Conditions of samples as they are written on the command line."""

from typing import Any

import pytest

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
        (["fee in ..2.5"], {"fee": {"to": 2.5}}),
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
        (["=3"], "KEY=VALUE"),
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
