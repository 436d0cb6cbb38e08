"""Advice on a frame is a line of its own library, and the line does what the advice says."""

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv

from tests.understudy.drafts.test_tables import column
from understudy.drafts.categories import NOTE
from understudy.drafts.frame_words import ARROW, PANDAS, POLARS, FrameWords, words_of
from understudy.drafts.tables import draft_frame
from understudy.drafts.written_numbers import Ambiguous

ALL = {"pandas": PANDAS, "polars": POLARS, "pyarrow": ARROW}
MAKE: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
WRITTEN = {
    "with_point": (["$1,234.50", "12.5%", "-3"], [1234.5, 12.5, -3]),
    "with_comma": (["1.234,50 €", "12,5", "3"], [1234.5, 12.5, 3]),
}
libraries = pytest.mark.parametrize("library", list(ALL))


def after(line: str, library: str, columns: dict[str, list[Any]]) -> Any:
    """A frame after a line that advice gave."""
    scope = {"frame": MAKE[library](columns), "pandas": pd, "pl": pl, "pc": pc}
    exec(line, scope)
    return scope["frame"]


def listed(frame: Any, name: str) -> list[Any]:
    """The values of a column, None where they are missing."""
    values = frame[name]
    every = values.to_pylist() if isinstance(frame, pa.Table) else values.to_list()
    return [None if pd.isna(value) else value for value in every]


@libraries
@pytest.mark.parametrize("kind", list(WRITTEN))
def test_written_numbers_become_plain_in_the_words_of_each_library(library: str, kind: str) -> None:
    texts, numbers = WRITTEN[kind]
    name = "what's {left}"
    line = ALL[library].changed(name, getattr(ALL[library], kind))
    told = Ambiguous(mark=",").advice(name, ALL[library])
    assert f"(in {library}, " in told
    assert line in told
    frame = after(line, library, {name: [*texts, None], "x": [1, 2, 3, 4]})
    assert listed(frame, name) == pytest.approx([*numbers, None])


@libraries
def test_words_in_lower_case_and_copies(library: str) -> None:
    words = ALL[library]
    assert listed(after(words.changed("w", words.lower), library, {"w": ["Yes", "NO"]}), "w") == ["yes", "no"]
    columns = {"a": [1.5, 2.0]}
    assert listed(after(words.copied("b", "a", 1.0), library, columns), "b") == [1.5, 2.0]
    assert listed(after(words.copied("b", "a", 12.0), library, columns), "b") == [18.0, 24.0]


@libraries
def test_a_column_is_read_as_text(library: str, tmp_path: Any) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("zip,x\n01001,2\n")
    call = ALL[library].read_as_text("zip").replace("...", repr(str(path)))
    found = eval(call, {"pl": pl, "csv": csv, "read_csv": pd.read_csv, "pc": pc})
    assert listed(found, "zip") == ["01001"]


@pytest.mark.parametrize(("frame", "words"), [(pd.DataFrame(), PANDAS), (pl.DataFrame(), POLARS), (pa.table({}), ARROW), ([], PANDAS)])  # fmt: skip
def test_a_frame_has_the_words_of_its_library(frame: object, words: FrameWords) -> None:
    assert words_of(frame) is words


@libraries
def test_no_note_of_a_draft_speaks_of_another_library(library: str) -> None:
    rows = 600
    frame = pa.table({
        "income": [f"${1000 + 13 * n:,}" for n in range(rows)], "answer": ["Yes", "yes", "no"] * 200, "zip": [1001 + n % 90 for n in range(rows)],
        "wage": [n + 0.3 for n in range(rows)], "pay": [3 * (n + 0.3) for n in range(rows)], "scan": [b"a"] * rows,
    })  # fmt: skip
    draft = draft_frame(frame, ALL[library])
    notes = " ".join(found[NOTE] for found in draft["columns"])
    for name in ("income", "answer", "zip", "pay", "scan"):
        assert library in column(draft, name)[NOTE], name
    assert not [other for other in ALL if other != library and other in notes]
