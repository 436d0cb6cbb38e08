"""Numbers and times that a file writes as text: a draft declares how, and the file is taken in as it is."""

import csv
from datetime import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import accepted, column, confirmed
from understudy.cli import app
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change
from understudy.drafts.hints import NUMBERS_LEFT_OUT
from understudy.drafts.marked_values import marks_of
from understudy.drafts.tables import draft_domain, draft_frame
from understudy.drafts.written_numbers import Ambiguous, Writing, writing_of
from understudy.errors import InputUnusable
from understudy.local.rows.frames import clean_frame

DOLLARS = [f"${1000 + 37 * n:,}.{n % 100:02d}" for n in range(500)]
EUROS = [f"{1000 + 37 * n:,}".replace(",", ".") + f",{n % 100:02d} €" for n in range(500)]
PERCENT = [f"{n / 10}%" for n in range(500)]
DECIMAL_COMMAS = [f"{n * n // 10},{n * n % 10}" for n in range(500)]
FRACTIONS = [f"0,{n:03}" for n in range(500)]
THREE_DIGITS = [f"{1 + n // 50},{n:03}" for n in range(500)]
TIMES = [f"{n // 60 % 24:02}:{n % 60:02}" for n in range(0, 1440, 3)]
HALF_DAYS = [f"{(n // 60 - 1) % 12 + 1}:{n % 60:02} {'AM' if n < 720 else 'PM'}" for n in range(0, 1440, 3)]


def written(folder: Path, **columns: list[str]) -> Path:
    """A CSV file, of columns of equal length."""
    path = folder / "rows.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path


@pytest.mark.parametrize(
    ("texts", "number_format"),
    [
        (DOLLARS, {"thousands": ",", "affixes": ["$"]}),
        (PERCENT, {"affixes": ["%"]}),
        (EUROS, {"thousands": ".", "decimal_mark": ",", "affixes": ["€"]}),
        (DECIMAL_COMMAS, {"decimal_mark": ","}),
        (FRACTIONS, {"decimal_mark": ","}),
        (["USD 5", "USD 12", "-USD 7"], {"affixes": ["USD"]}),
        (["5 kr", "12 kr"], {"affixes": ["kr"]}),
        (["1'000.5", "2’345'678"], {"thousands": "'"}),
        (["1\u202f000,5", "2\u00a0345"], {"thousands": " ", "decimal_mark": ","}),
        (TIMES, {"clock": True}),
        (HALF_DAYS, {"clock": True}),
        (["36:15", "120:05"], {"clock": True}),
    ],
)  # fmt: skip
def test_written_numbers_are_known(texts: list[str], number_format: dict[str, Any]) -> None:
    found = writing_of(texts)
    assert isinstance(found, Writing)
    assert found.number_format(decimal_mark=".") == number_format


@pytest.mark.parametrize(
    "texts",
    [
        ["1", "2.5", "-3e4"], ["10,20,30", "4,5,6"], ["12.03.2020", "13.03.2020"], ["Smith, J.", "Doe, A."], ["5%-10%", "10%-20%"],
        ["$5 off", "$7 off"], ["A1", "B2"], ["1,2", "north", "south"], ["", " "], [],
        ["12:5", "7:9"], ["0a:1b:2c", "0a:1b:2d"], ["Mon 12:30", "Tue 13:15"],
    ],
)  # fmt: skip
def test_words_and_plain_numbers_are_none(texts: list[str]) -> None:
    assert writing_of(texts) is None


COLUMNS = {"dollars": DOLLARS, "euros": EUROS[::-1], "percent": PERCENT, "commas": DECIMAL_COMMAS}
VALUES = {
    "dollars": [1000 + 37 * n + n % 100 / 100 for n in range(500)],
    "euros": [1000 + 37 * n + n % 100 / 100 for n in reversed(range(500))],
    "percent": [n / 10 for n in range(500)],
    "commas": [n * n / 10 for n in range(500)],
}


@pytest.mark.parametrize("repeats", [1, 6])
def test_a_confirmed_draft_takes_the_file_in_as_it_is(repeats: int, tmp_path: Path) -> None:
    path = written(
        tmp_path, **{name: texts * repeats for name, texts in COLUMNS.items()}, x=["a", "b"] * (250 * repeats)
    )
    draft = draft_domain(path)
    for name in COLUMNS:
        found = column(draft, name)
        assert found["kind"] == "numeric", name
        assert "number_format" in found["_from_data"]
        assert "synthetic rows have plain numbers" in found[NOTE]
    assert "“€” and “.” between thousands and “,” before decimals" in column(draft, "euros")[NOTE]
    assert accepted(path, draft) == (500 * repeats, 0)


def test_a_frame_is_read_as_its_draft_says() -> None:
    table = pa.table(COLUMNS)
    domain = TableDomain.from_json(confirmed(draft_frame(table)))
    block = clean_frame(table, domain)
    for name, values in VALUES.items():
        assert block.batch.column(name).to_pylist() == pytest.approx(values)


@pytest.mark.parametrize("mark", [",", "."])
def test_what_groups_thousands_to_one_reader_and_begins_decimals_to_another_is_not_guessed(mark: str) -> None:
    pandas = pytest.importorskip("pandas")
    texts = [text.replace(",", mark) + " €" for text in THREE_DIGITS]
    found = writing_of(texts)
    assert isinstance(found, Ambiguous)
    told = found.advice("x")
    assert f"only you know what 1{mark}234 means" in told
    lines = told.partition("(in pandas, ")[2].partition(" if it is 1234, and ")
    for line, value in ((lines[0], 10499), (lines[2].partition(" if it is 1.234")[0], 10.499)):
        frame = pandas.DataFrame({"x": texts})
        exec(line, {"frame": frame})
        assert frame["x"].iloc[499] == pytest.approx(value)
    assert isinstance(writing_of([*texts, f"1{mark}5"]), Writing), "one number of two readings less"
    note = column(draft_frame(pa.table({"x": texts})), "x")[NOTE]
    assert note.startswith(NUMBERS_LEFT_OUT)


@pytest.mark.parametrize(
    ("count", "kind"), [(4, "categorical"), (12, "categorical"), (13, "numeric"), (50, "numeric")]
)
def test_more_than_twelve_shares_in_percent_are_numbers(count: int, kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, x=[f"{50 + n % count}%" for n in range(600)], y=["a", "b"] * 300)
    draft = draft_domain(path)
    assert column(draft, "x")["kind"] == kind
    assert accepted(path, draft) == (600, 0)


@pytest.mark.parametrize(("sign", "mark"), [("€", "."), ("CHF", ","), ("$", ",")])
def test_money_in_tens_has_no_three_decimals(sign: str, mark: str) -> None:
    texts = [f"{20 + n // 20}{mark}{n % 1000:03} {sign}" for n in range(500)]
    found = writing_of(texts)
    assert isinstance(found, Writing)
    assert found.thousands == mark
    if mark == ",":
        assert isinstance(writing_of([text.removesuffix(f" {sign}") for text in texts]), Ambiguous)
    assert isinstance(writing_of([*texts, f"1{mark}234"]), Ambiguous), "a number that is no money"
    drafted = column(draft_frame(pa.table({"x": texts})), "x")
    assert (drafted["type"], drafted["lower"] >= 10_000) == ("integer", True)


def test_who_knows_the_decimal_mark_says_what_groups_thousands(tmp_path: Path) -> None:
    path = written(tmp_path, cost=THREE_DIGITS, x=["a", "b"] * 250)
    assert column(draft_domain(path), "cost")["kind"] == "ignored"
    grouped = column(draft_domain(path, decimal_mark="."), "cost")
    assert (grouped["type"], grouped["number_format"]) == ("integer", {"thousands": ","})
    assert column(draft_domain(path, decimal_mark=","), "cost")["decimals"] == 3


@pytest.mark.parametrize("mark", [",", "."])
def test_other_columns_say_what_groups_thousands(mark: str, tmp_path: Path) -> None:
    """Columns of one file are written by one program."""
    staff = [f"{n * n // 20:,}".replace(",", "." if mark == "," else ",") for n in range(500)]
    columns = {
        "money": EUROS if mark == "," else DOLLARS,
        "staff": staff,
        "rate": ["62.01", "47.11", "3.5", "7"] * 125,
    }
    path = written(tmp_path, **columns)
    draft = draft_domain(path)
    found = column(draft, "staff")
    assert (found["kind"], found["type"], found["upper"]) == ("numeric", "integer", 13000)
    assert found["number_format"]["thousands"] == ("." if mark == "," else ",")
    assert column(draft, "rate")["specials"] == [3.5, 7, 47.11, 62.01]
    assert accepted(path, draft) == (500, 0)
    # A frame has the same text.
    assert column(draft_frame(pa.table(columns)), "staff")["number_format"] == found["number_format"]


def test_columns_that_disagree_decide_nothing(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        euros=EUROS,
        dollars=DOLLARS,
        cost=THREE_DIGITS,
        size=[f"{1 + n / 1000:.3f}" for n in range(500)],
    )
    draft = draft_domain(path)
    assert column(draft, "cost")["kind"] == "ignored"
    assert column(draft, "size")["decimals"] == 3


def test_numbers_of_a_frame_that_are_no_text_are_what_they_are() -> None:
    table = pa.table({"money": EUROS, "size": [(1000 + n) / 1000 for n in range(1, 501)]})
    assert column(draft_frame(table), "size")["decimals"] == 3


@pytest.mark.parametrize(
    "texts",
    [TIMES, [f"{text}:{n % 60:02}" for n, text in enumerate(TIMES)], [text.removeprefix("0") for text in TIMES], HALF_DAYS],
    ids=["minutes", "seconds", "one digit", "twelve hours"],
)  # fmt: skip
def test_times_of_the_day_become_minutes(texts: list[str], tmp_path: Path) -> None:
    path = written(tmp_path, arrived=texts * 2, x=["a", "b"] * len(texts))
    draft = draft_domain(path)
    found = column(draft, "arrived")
    assert (found["lower"], found["upper"], found["bins"]) == (0, 1439, 24)
    assert "17:45 is 1065" in found[NOTE]
    assert accepted(path, draft) == (2 * len(texts), 0)


def test_times_of_a_frame_are_no_text_and_become_minutes_too() -> None:
    pandas = pytest.importorskip("pandas")
    times = [time(n // 60, n % 60) for n in range(0, 1440, 3)]
    frame = pandas.DataFrame({"arrived": [*times, None], "x": [1, 2, 3] * 160 + [1]})
    table = pa.Table.from_pandas(frame)
    for rows in (frame, table):
        domain = TableDomain.from_json(confirmed(draft_frame(table)))
        block = clean_frame(rows, domain)
        assert block.batch.column("arrived").to_pylist() == [*range(0, 1440, 3), None]


def test_lengths_of_time_become_numbers_of_their_smaller_unit(tmp_path: Path) -> None:
    path = written(tmp_path, stay=[f"{n // 7}:{n % 60:02}" for n in range(500)] * 2)
    draft = draft_domain(path)
    found = column(draft, "stay")
    assert found["number_format"] == {"clock": True}
    assert found["upper"] >= 499 // 7 * 60 + 499 % 60
    assert accepted(path, draft) == (1000, 0)


def test_words_beside_written_numbers_leave_the_column_out_with_a_line(tmp_path: Path) -> None:
    words = ["see file", "not billed", "waived", "appeal"]
    path = written(tmp_path, cost=[*DOLLARS, *words], x=["a", "b"] * 252)
    found = column(draft_domain(path), "cost")
    assert found["kind"] == "ignored"
    assert found[NOTE].startswith(NUMBERS_LEFT_OUT)
    assert "several words" in found[NOTE]


@pytest.mark.parametrize(
    "below",
    ["({})", "$({})", "({} $)", "{}-", "{} -", "\u2212{}", "$\u2212{}"],
)
@pytest.mark.parametrize("share", [2, 30])
def test_numbers_with_other_minuses_are_left_out_with_a_line(below: str, share: int, tmp_path: Path) -> None:
    """Such as those of accountants; they were taken for texts, and the note told to list them as categories."""
    texts = [below.format(f"{n},250.75") if n % share == 0 else f"{n},250.75" for n in range(1, 501)]
    path = written(tmp_path, balance=texts, x=["a", "b"] * 250)
    note = column(draft_domain(path), "balance")[NOTE]
    assert note.startswith(f"{NUMBERS_LEFT_OUT}: negative numbers are in parentheses")
    assert "such as -12.50" in note


@pytest.mark.parametrize(
    "texts",
    [
        [f"{n}-{n + 9}" for n in range(500)],
        [f"Flat ({n})" for n in range(500)],
        [f"({n})-A" for n in range(500)],
    ],
)
def test_ranges_and_words_are_no_numbers_with_other_minuses(texts: list[str]) -> None:
    assert not column(draft_frame(pa.table({"x": texts})), "x")[NOTE].startswith(NUMBERS_LEFT_OUT)


def test_few_percentages_are_words_that_a_release_has() -> None:
    drafted = draft_frame(pa.table({"rate": ["5%", "10%", "25%"] * 200, "x": ["a", "b"] * 300}))
    assert column(drafted, "rate")["kind"] == "categorical"


def test_the_command_warns_at_the_end_of_numbers_that_are_left_out(tmp_path: Path) -> None:
    rows = written(tmp_path, income=THREE_DIGITS, x=["a", "b"] * 250)
    done = CliRunner().invoke(app, ["domain", "draft", str(rows), "--out", str(tmp_path / "domain.json")])
    assert done.exit_code == 0
    assert "WARNING: income: numbers that no release will have." in done.output
    assert "--decimal-mark" in done.output


def test_a_person_may_change_the_format(tmp_path: Path) -> None:
    draft = draft_domain(written(tmp_path, cost=DOLLARS, x=["a", "b"] * 250))
    mark = next(mark for mark in marks_of(draft) if mark.key == "number_format")
    change(draft, mark, '{"thousands": ",", "affixes": ["$", "USD"]}')
    assert column(draft, "cost")["number_format"]["affixes"] == ["$", "USD"]
    for text in ("USD", "[]", "3"):
        with pytest.raises(InputUnusable, match=r"column 'cost': number_format must be an object such as"):
            change(draft, mark, text)
