"""A few words beside many numbers leave a column of numbers, in which those words are missing."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.understudy.drafts.test_tables import accepted, column, taken_in, write
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change
from understudy.drafts.marked_values import marks_of
from understudy.drafts.tables import draft_domain, draft_frame
from understudy.table_files import MARK

ROWS = 3000


def _table(texts: list[str], *, others: list[str] | None = None) -> bytes:
    others = others or [f"{n % 7}" for n in range(len(texts))]
    rows = "".join(f"{one};{other}\n" for one, other in zip(texts, others, strict=True))
    return f"score;ward\n{rows}".encode()


def _scores(*words: str, share: float = 0.15, rows: int = ROWS) -> list[str]:
    rng = np.random.default_rng(3)
    numbers = np.clip(rng.normal(480, 90, rows), 200, 800).astype(int)
    is_word = rng.random(rows) < share
    return [words[n % len(words)] if is_word[n] else str(numbers[n]) for n in range(rows)]


@pytest.mark.parametrize("words", [("ABS",), ("ABS", "EXEMPT"), ("absent", "late", "lost")])
def test_words_of_many_rows_are_missing_and_marked(tmp_path: Path, words: tuple[str, ...]) -> None:
    draft = draft_domain(write(tmp_path, _table(_scores(*words))))
    found = column(draft, "score")
    assert (found["kind"], found["type"], found["null"]) == ("numeric", "integer", "category")
    assert set(draft["csv"]["null_values"]) == {"", *words}
    assert "null_values" in draft["csv"][MARK]
    assert "unreadable" not in found, "other texts are refused"
    assert "count as missing" in found[NOTE]
    assert words[0] in found[NOTE]
    assert accepted(tmp_path / "rows.csv", draft) == (ROWS, 0)


def test_a_word_of_one_row_does_not_become_public(tmp_path: Path) -> None:
    texts = _scores("ABS", share=0)
    texts[7] = "Mrs Smith"
    draft = draft_domain(write(tmp_path, _table(texts)))
    found = column(draft, "score")
    assert found["kind"] == "numeric"
    assert found["unreadable"] == "null"
    assert draft["csv"]["null_values"] == [""]
    assert taken_in(tmp_path / "rows.csv", draft) == {"score": {"mapped-to-null": 1}}


def test_a_detection_limit_of_one_row_does_not_become_public(tmp_path: Path) -> None:
    texts = [f"{n % 97 + 0.5}" for n in range(ROWS)]
    texts[7] = "<0.37"
    draft = draft_domain(write(tmp_path, _table(texts)))
    assert column(draft, "score")["unreadable"] == "null"
    assert draft["csv"]["null_values"] == [""]


def test_a_word_that_another_column_means_is_missing_in_its_own_alone(tmp_path: Path) -> None:
    others = ["ABS" if n % 4 else "A" for n in range(ROWS)]
    draft = draft_domain(write(tmp_path, _table(_scores("ABS"), others=others)))
    assert column(draft, "score")["unreadable"] == "null"
    assert draft["csv"]["null_values"] == [""]
    assert set(column(draft, "ward")["categories"]) == {"A", "ABS"}


@pytest.mark.parametrize(
    "texts",
    [
        _scores("ABS", share=0.6),
        _scores("a", "b", "c", "d"),
        [["rotary", "3", "4", "5", "6", "8"][n % 6] for n in range(ROWS)],
        [f"{n % 300 + 1:04d}" if n % 9 else "XXXX" for n in range(ROWS)],
        [f"{20200101 + n % 25}" if n % 9 else "open" for n in range(ROWS)],
        ["V57" if n % 20 == 0 else str(250 + n % 300) for n in range(ROWS)],
    ],
    ids=["mostly words", "four words", "few numbers", "codes", "dates", "diagnoses"],
)
def test_other_columns_stay_as_they_were(tmp_path: Path, texts: list[str]) -> None:
    draft = draft_domain(write(tmp_path, _table(texts)))
    assert column(draft, "score")["kind"] in {"categorical", "ignored"}
    assert draft["csv"]["null_values"] == [""]


def test_a_telephone_number_with_a_word_is_dropped(tmp_path: Path) -> None:
    texts = [f"{3080000000 + n * 7919 % 999_983}" if n else "on request" for n in range(ROWS)]
    draft = draft_domain(write(tmp_path, _table(texts).replace(b"score", b"phone")))
    assert column(draft, "phone")["kind"] == "ignored"


def test_numbers_with_a_decimal_comma_too() -> None:
    rng = np.random.default_rng(3)
    texts = [f"{value:.2f}".replace(".", ",") for value in rng.uniform(1, 4, ROWS)]
    texts[::10] = ["ABS"] * len(texts[::10])
    draft = draft_frame(pa.table({"gpa": texts, "ward": ["a", "b"] * (ROWS // 2)}))
    assert column(draft, "gpa")["kind"] == "numeric"
    assert draft["csv"]["null_values"] == ["", "ABS"]


def test_a_file_with_decimal_commas_and_a_word_has_that_mark(tmp_path: Path) -> None:
    texts = [f"{n % 300 / 100:.2f}".replace(".", ",") if n % 9 else "ABS" for n in range(ROWS)]
    draft = draft_domain(write(tmp_path, _table(texts)), delimiter=";")
    assert draft["csv"]["decimal_mark"] == ","
    assert column(draft, "score")["kind"] == "numeric"


def test_the_answer_numeric_models_what_was_drafted_as_words(tmp_path: Path) -> None:
    texts = [["rotary", "3", "4", "5", "6", "8"][n % 6] for n in range(ROWS)]
    draft = draft_domain(write(tmp_path, _table(texts)))
    found = column(draft, "score")
    assert found["kind"] == "categorical"
    assert "'numeric'" in found[NOTE]
    kind = next(mark for mark in marks_of(draft) if mark.key == "kind" and mark.column == "score")
    change(draft, kind, "numeric")
    found = column(draft, "score")
    assert (found["kind"], found["null"], found["unreadable"]) == ("numeric", "category", "null")
    assert {"lower", "upper"} <= set(found[MARK])
    assert taken_in(tmp_path / "rows.csv", draft) == {"score": {"mapped-to-null": ROWS // 6}}


@pytest.mark.parametrize("text", ["n.a.", "#NV", "#DIV/0!", "#VALUE!"])
def test_what_spreadsheets_write_for_no_value_is_missing(text: str) -> None:
    rows = pa.table(
        {"mark": [text if n % 3 == 0 else str(n % 5 + 1) for n in range(600)], "x": ["a", "b"] * 300}
    )
    drafted = draft_frame(rows)
    assert drafted["csv"]["null_values"] == sorted(["", text])
    assert (column(drafted, "mark")["kind"], column(drafted, "mark")["null"]) == ("numeric", "category")
