"""Contracts stay as they were committed; `make goldens` writes them anew after an intended change."""

import json

import pytest

from tests.goldens import stored
from tests.goldens.files import FOLDER, canonical, differences, read, text_of
from tests.goldens.write import GOLDENS

MOST_BYTES = 400_000


@pytest.mark.parametrize("name", GOLDENS)
def test_a_contract_is_what_was_committed(name: str):
    made = json.loads(canonical(GOLDENS[name]()))

    assert list(differences(read(name), made)) == []


@pytest.mark.parametrize("name", stored.CONTENTS)
def test_what_was_sealed_still_opens(name: str):
    assert stored.opened(read("stored"))[name] == stored.CONTENTS[name]


def test_every_golden_file_is_compared_and_all_are_small():
    files = sorted(FOLDER.iterdir())
    assert [file.name for file in files] == sorted(f"{name}.json" for name in GOLDENS)
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
    for file in files:
        assert file.read_text() == text_of(json.loads(file.read_text()))


def test_words_that_came_and_went_are_named():
    assert list(differences(["a", "b"], ["b", "c", "d"])) == [" / a: gone", " / c: new", " / d: new"]
    assert list(differences(["a", "a"], ["a"])) == [': ["a","a"] became ["a"]']


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ({"a": {"b": [1, 2.0]}}, []),
        ({"a": {"b": [1, 2.0 + 1e-12]}}, []),
        ({"a": {"b": [1, 2.0 + 1e-6]}}, ["a / b[1]"]),
        ({"a": {"b": [1.0, 2.0]}}, ["a / b[0]"]),
        ({"a": {"b": [True, 2.0]}}, ["a / b[0]"]),
        ({"a": {"b": [1]}}, ["a / b"]),
        ({"a": {"c": [1, 2.0]}}, ["a / b", "a / c"]),
    ],
)
def test_a_difference_is_named(made: dict[str, object], named: list[str]):
    assert [one.partition(":")[0] for one in differences({"a": {"b": [1, 2.0]}}, made)] == named
