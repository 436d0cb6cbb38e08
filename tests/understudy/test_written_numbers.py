"""Numbers and times that a file writes as text: a draft says so, instead of taking them for words or for identifiers."""

import csv
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tests.understudy.test_domain_draft import column
from understudy.cli import app
from understudy.domain_draft import draft_frame
from understudy.draft_advice import NUMBERS_LEFT_OUT
from understudy.draft_categories import NOTE
from understudy.written_numbers import Ambiguous, Writing, writing_of

DOLLARS = [f"${1000 + 37 * n:,}.{n % 100:02d}" for n in range(500)]
EUROS = [f"{1000 + 37 * n:,}".replace(",", ".") + f",{n % 100:02d} €" for n in range(500)]
PERCENT = [f"{n / 10}%" for n in range(500)]
DECIMAL_COMMAS = [f"{n // 10},{n % 10}" for n in range(500)]
FRACTIONS = [f"0,{n:03}" for n in range(500)]
THREE_DIGITS = [f"{1 + n // 50},{n:03}" for n in range(500)]
TIMES = [f"{n // 60 % 24:02}:{n % 60:02}" for n in range(0, 1440, 3)]


@pytest.mark.parametrize(
    ("texts", "plain"),
    [(DOLLARS, "str.replace('[^0-9.-]'"), (PERCENT, "str.replace('[^0-9.-]'"), (EUROS, "str.replace(',', '.')"),
     (DECIMAL_COMMAS, "str.replace(',', '.')"), (["USD 5", "USD 12", "-USD 7"], "[^0-9.-]"), (["5 kr", "12 kr"], "[^0-9.-]")],
)  # fmt: skip
def test_written_numbers_are_known(texts: list[str], plain: str) -> None:
    found = writing_of(texts)
    assert found is not None
    assert plain in found.advice("x")


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


@pytest.mark.parametrize("repeats", [1, 6])
def test_a_draft_says_how_to_write_them_plainly_whether_they_repeat_or_not(repeats: int) -> None:
    rows = {"income": DOLLARS * repeats, "copay": PERCENT * repeats, "bmi": DECIMAL_COMMAS * repeats}
    drafted = draft_frame(pa.table({**rows, "x": ["a", "b"] * (250 * repeats)}))
    for name in rows:
        found = column(drafted, name)
        assert found["kind"] == "ignored"
        assert found[NOTE].startswith(NUMBERS_LEFT_OUT)
        assert f"frame['{name}'] = frame['{name}'].str.replace(" in found[NOTE]


def test_what_the_note_says_to_write_is_drafted_as_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"income": DOLLARS, "cost": EUROS[::-1], "copay": PERCENT})
    notes = {found["name"]: found[NOTE] for found in draft_frame(pa.Table.from_pandas(frame))["columns"]}
    for name in frame.columns:
        exec(notes[name].partition("(in pandas, ")[2].removesuffix(")."), {"frame": frame})
    again = draft_frame(pa.Table.from_pandas(frame))
    assert {found["kind"] for found in again["columns"]} == {"numeric"}
    assert frame["income"].iloc[499] == pytest.approx(1000 + 37 * 499 + 0.99)
    assert frame["cost"].iloc[0] == pytest.approx(1000 + 37 * 499 + 0.99)


def test_a_comma_behind_a_nought_comes_before_decimals() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"factor": FRACTIONS})
    found = writing_of(FRACTIONS)
    assert isinstance(found, Writing)
    exec(found.assignment("factor"), {"frame": frame})
    assert frame["factor"].iloc[499] == pytest.approx(0.499)


@pytest.mark.parametrize("mark", [",", "."])
def test_what_groups_thousands_to_one_reader_and_begins_decimals_to_another_is_not_guessed(mark: str) -> None:
    pandas = pytest.importorskip("pandas")
    texts = [text.replace(",", mark) + " €" for text in THREE_DIGITS]
    found = writing_of(texts)
    assert isinstance(found, Ambiguous)
    told = found.advice("x")
    assert f"only you know what 1{mark}234 means" in told
    for line, value in ((found.grouping.assignment("x"), 10499), (found.decimal.assignment("x"), 10.499)):
        assert line in told
        frame = pandas.DataFrame({"x": texts})
        exec(line, {"frame": frame})
        assert frame["x"].iloc[499] == pytest.approx(value)
    assert isinstance(writing_of([*texts, f"1{mark}5"]), Writing), "one number of two readings less"


@pytest.mark.parametrize(
    ("texts", "last"),
    [
        (TIMES, 2357),
        ([f"{text}:{n % 60:02}" for n, text in enumerate(TIMES)], 2357),
        ([text.removeprefix("0") for text in TIMES], 2357),
        ([f"{(n // 60 - 1) % 12 + 1}:{n % 60:02} {'AM' if n < 720 else 'PM'}" for n in range(0, 1440, 3)], 2357),
    ],
    ids=["minutes", "seconds", "one digit", "twelve hours"],
)  # fmt: skip
def test_times_of_the_day_become_times_of_the_clock(texts: list[str], last: int) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"arrived": [*texts * 2, None]})
    note = column(draft_frame(pa.Table.from_pandas(frame)), "arrived")[NOTE]
    assert note.startswith(NUMBERS_LEFT_OUT)
    exec(note.partition("(in pandas, ")[2].removesuffix(")."), {"frame": frame, "pandas": pandas})
    again = column(draft_frame(pa.Table.from_pandas(frame)), "arrived")
    assert again["kind"] == "numeric"
    assert "Times of the clock" in again[NOTE]
    assert frame["arrived"].iloc[len(texts) - 1] == last


def test_lengths_of_time_become_numbers_of_their_smaller_unit() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"stay": [f"{n // 7}:{n % 60:02}" for n in range(500)] * 2})
    note = column(draft_frame(pa.Table.from_pandas(frame)), "stay")[NOTE]
    exec(note.partition("(in pandas, ")[2].removesuffix(")."), {"frame": frame})
    assert frame["stay"].iloc[499] == 499 // 7 * 60 + 499 % 60
    assert column(draft_frame(pa.Table.from_pandas(frame)), "stay")["kind"] == "numeric"


def test_few_percentages_are_words_that_a_release_has() -> None:
    drafted = draft_frame(pa.table({"rate": ["5%", "10%", "25%"] * 200, "x": ["a", "b"] * 300}))
    assert column(drafted, "rate")["kind"] == "categorical"


def test_the_command_warns_at_the_end(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    with rows.open("w", newline="") as file:
        csv.writer(file).writerows([("income", "x"), *((text, n % 2) for n, text in enumerate(DOLLARS))])
    done = CliRunner().invoke(app, ["domain", "draft", str(rows), "--out", str(tmp_path / "domain.json")])
    assert done.exit_code == 0
    assert "WARNING: income: numbers that no release will have." in done.output
