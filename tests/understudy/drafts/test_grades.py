"""Whole numbers in a row with a known word before them or an open end beside them are levels in their order."""

from pathlib import Path

import pytest

from tests.understudy.drafts.test_tables import accepted, column, write
from understudy.drafts.tables import draft_domain


def _drafted(folder: Path, words: list[str]) -> dict:
    rows = "".join(f"{words[n % len(words)]},{n % 3}\n" for n in range(len(words) * 40))
    path = write(folder, f"grade,ward\n{rows}".encode())
    draft = draft_domain(path)
    assert accepted(path, draft)[1] == 0
    return column(draft, "grade")


@pytest.mark.parametrize(
    "levels",
    [
        ["K", *map(str, range(1, 13))],
        ["PK", "K", *map(str, range(1, 6))],
        ["Pre-K", "TK", "KG", *map(str, range(1, 9))],
        ["Kindergarten", "1", "2", "3"],
        ["PK", "KG", "01", "02", "03", "04"],
        ["PK", "0", "1", "2", "3"],
        ["0", "1", "2", "3+"],
        ["K", *map(str, range(1, 13)), "13+"],
        ["1", "2", "3", "4 or more"],
        ["<1", *map(str, range(1, 11))],
        ["<18", *map(str, range(18, 50)), "50+"],
        [*map(str, range(1, 12)), "12+"],
    ],
    ids=lambda levels: "-".join((levels[0], levels[-1])),
)
def test_levels_have_their_order(tmp_path: Path, levels: list[str]) -> None:
    found = _drafted(tmp_path, levels)
    assert (found["kind"], found["levels"]) == ("ordinal", levels)


@pytest.mark.parametrize(
    "words",
    [
        ["K", "0", "1", "2", "3"],
        ["K", "KG", "1", "2", "3"],
        ["K", "2", "3", "4"],
        ["K", "1", "3", "7"],
        ["K", "1"],
        ["1", "01", "2", "3+"],
        ["1", "2", "3", "4", "5", "3+"],
        ["1", "2", "3", "<2"],
        ["J", "1", "2", "3"],
        ["K", *map(str, range(1, 30))],
    ],
    ids="-".join,
)
def test_an_order_that_is_not_certain_is_none(tmp_path: Path, words: list[str]) -> None:
    assert _drafted(tmp_path, words)["kind"] != "ordinal"


def test_an_open_end_beside_many_numbers_is_missing_and_the_note_says_what_to_do(tmp_path: Path) -> None:
    found = _drafted(tmp_path, [*map(str, range(90)), "90+"])
    assert found["kind"] == "numeric"
    assert "replace them by a number beforehand" in found["_note"]
