"""Constants and free text are left out of a draft, and the answer "keep" models them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.understudy.drafts.test_tables import accepted, column
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change
from understudy.drafts.confirmation import marks_of
from understudy.drafts.tables import draft_domain, draft_frame

ROWS = 400
SENTENCES = [
    "Pat. stable, discharge planned",
    "fell down the stairs",
    "fever for three days",
    "see letter of yesterday",
]


def drafted(folder: Path, **columns: list[str]) -> tuple[Path, dict[str, Any]]:
    path = folder / "rows.csv"
    table = {**columns, "x": ["a", "b"] * (ROWS // 2)}
    lines = [
        ",".join(table),
        *(",".join(f'"{cell}"' for cell in row) for row in zip(*table.values(), strict=True)),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path, draft_domain(path)


def keep(draft: dict[str, Any], name: str) -> None:
    change(draft, next(mark for mark in marks_of(draft) if (mark.column, mark.key) == (name, "kind")), "keep")


@pytest.mark.parametrize("value", ["St. Elsewhere", "7", "2024-01-01"])
def test_a_constant_is_left_out(value: str, tmp_path: Path) -> None:
    path, draft = drafted(tmp_path, hospital=[value] * ROWS)
    found = column(draft, "hospital")
    assert found["kind"] == "ignored"
    assert found[NOTE].startswith("Every row has the same value")
    keep(draft, "hospital")
    assert column(draft, "hospital")["kind"] in {"categorical", "numeric", "date"}
    assert accepted(path, draft) == (ROWS, 0)


def test_a_value_that_is_sometimes_missing_is_no_constant(tmp_path: Path) -> None:
    _, draft = drafted(tmp_path, flag=["seen", ""] * (ROWS // 2))
    assert column(draft, "flag")["kind"] == "categorical"


def test_the_target_stays(tmp_path: Path) -> None:
    _, draft = drafted(tmp_path, died=["no"] * ROWS)
    assert draft["target"] == "died"
    assert column(draft, "died")["kind"] != "ignored"


@pytest.mark.parametrize(
    "name",
    ["notes", "dischargeNote", "free_text", "Bemerkung", "doctor's comment", "Observaciones", "osservazioni"],
)
def test_sentences_of_a_column_called_like_free_text_are_left_out(name: str, tmp_path: Path) -> None:
    path, draft = drafted(tmp_path, **{name: SENTENCES * (ROWS // 4)})
    found = column(draft, name)
    assert found["kind"] == "ignored"
    assert found[NOTE].startswith("The name and the length suggest free text")
    keep(draft, name)
    assert column(draft, name)["categories"] == sorted(SENTENCES)
    assert accepted(path, draft) == (ROWS, 0)


@pytest.mark.parametrize(
    ("name", "words"), [("notes", ["top", "heart", "base", "tail"]), ("diagnosis", SENTENCES)]
)
def test_single_words_and_other_columns_are_categories(name: str, words: list[str], tmp_path: Path) -> None:
    _, draft = drafted(tmp_path, **{name: words * (ROWS // 4)})
    assert column(draft, name)["kind"] == "categorical"


def test_levels_are_ordered_in_german_too(tmp_path: Path) -> None:
    _, draft = drafted(tmp_path, severity=["schwer", "leicht", "mittel", "leicht"] * (ROWS // 4))
    assert column(draft, "severity")["levels"] == ["leicht", "mittel", "schwer"]


def test_texts_of_two_numbers_are_said_to_be_two_columns() -> None:
    pressures = [f"{90 + place * 7 % 80}/{50 + place * 13 % 60}" for place in range(2000)]
    drafted = draft_frame(pa.table({"pressure": pressures, "ward": ["a", "b"] * 1000}))
    assert "Each text holds two numbers" in drafted["columns"][0]["_note"]
    pages = [f"{place} of {place * 7 % 300}" for place in range(2000)]
    drafted = draft_frame(pa.table({"page": pages, "ward": ["a", "b"] * 1000}))
    assert "two numbers" not in drafted["columns"][0]["_note"]
