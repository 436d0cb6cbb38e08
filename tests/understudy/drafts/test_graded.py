"""Whole numbers under a name of levels are drafted in their order; counts stay numbers."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import accepted, column, confirmed, taken_in, write
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change
from understudy.drafts.marked_values import Mark
from understudy.drafts.tables import draft_domain, draft_frame

FIVE = {1: 200, 2: 450, 3: 280, 4: 60, 5: 10}
BESIDE = "the kind 'ordinal' says so, at the same cost"


def drafted(folder: Path, name: str, counts: Mapping[object, int]) -> dict:
    rows = "".join(f"{value},{n % 3}\n" for value, count in counts.items() for n in range(count))
    path = write(folder, f"{name},ward\n{rows}".encode())
    draft = draft_domain(path)
    assert accepted(path, draft)[1] == 0
    return column(draft, name)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("ASA", 1, 5), ("asa_score", 1, 4), ("ECOG", 0, 4), ("tumor_stage", 0, 4), ("stage", 1, 3), ("NYHA_class", 1, 4), ("age_band", 1, 8),
        ("ageGroup", 0, 8), ("agegroup", 1, 6), ("Altersgruppe", 1, 7), ("Pflegegrad", 0, 5), ("schulnote_mathe", 1, 6), ("Bildungsstufe", 0, 4),
        ("income_decile", 1, 10), ("severity", 1, 3), ("niveau", 1, 5), ("tranche_age", 1, 9), ("imd_quintile", 1, 5), ("pain_level", 0, 10),
        ("likert_7", 1, 7), ("grade", 1, 8),
    ],
)  # fmt: skip
def test_levels_by_their_name(tmp_path: Path, name: str, first: int, last: int) -> None:
    # The shape of codes, of which neighbours are unlike each other, under a name of levels.
    counts = {value: (150, 30)[value % 3 == 1] + value for value in range(first, last + 1)}
    found = drafted(tmp_path, name, counts)
    assert (found["kind"], found["levels"]) == ("ordinal", [str(value) for value in counts])
    assert "give its kind as 'numeric'" in found[NOTE]


@pytest.mark.parametrize(
    "name",
    ["children", "number_of_grades", "n_levels", "Anzahl Kinder", "visits", "household_size", "rooms", "stages_done", "Zimmer", "x3"],
)  # fmt: skip
@pytest.mark.parametrize("last", [5, 9])
def test_counts_stay_numbers(tmp_path: Path, name: str, last: int) -> None:
    found = drafted(tmp_path, name, {value: 400 // (value + 1) for value in range(last + 1)})
    assert (found["kind"], found["lower"], found["upper"]) == ("numeric", 0, last)


@pytest.mark.parametrize(
    "counts",
    [
        {1: 200, 2: 450, 4: 280},
        {2: 200, 3: 450, 4: 280},
        dict.fromkeys(range(12), 100),
        {1: 2, 2: 3, 3: 4, 4: 2},
        {1: 200, 2: 450, 3: 280, 4: 60, 5: 1},
    ],
    ids=["gap", "not from 0 or 1", "many", "few rows", "one person's level"],
)
def test_other_numbers_under_such_a_name_are_no_levels(tmp_path: Path, counts: dict[int, int]) -> None:
    assert drafted(tmp_path, "grade", counts)["kind"] != "ordinal"


@pytest.mark.parametrize("name", ["q7", "rating", "zufriedenheit"])
def test_the_note_of_few_numbers_in_a_row_says_how_to_make_them_levels(tmp_path: Path, name: str) -> None:
    found = drafted(tmp_path, name, FIVE)
    assert (found["kind"], found["upper"]) == ("numeric", 5)
    assert BESIDE in found[NOTE]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("children", FIVE),
        ("month", dict.fromkeys(range(1, 13), 100)),
        ("age", dict.fromkeys(range(1, 9), 100)),
        ("y7", {value: 100 - value for value in range(30)}),
    ],
)
def test_counts_and_scales_have_no_such_note(tmp_path: Path, name: str, counts: dict[int, int]) -> None:
    found = drafted(tmp_path, name, counts)
    assert found["kind"] == "numeric"
    assert BESIDE not in found[NOTE]


@pytest.mark.parametrize("missing", [-9, 99])
def test_levels_that_a_person_declares_have_no_missing_codes(tmp_path: Path, missing: int) -> None:
    counts = FIVE | {missing: 60}
    found = drafted(tmp_path, "ASA", counts)
    assert found["kind"] == "numeric", "a code of a missing answer is no level, and keeps a code of its own"
    assert missing in found["specials"]
    assert BESIDE in found[NOTE]
    path = write(
        tmp_path, b"ASA\n" + b"".join(f"{value}\n".encode() * count for value, count in counts.items())
    )
    draft = draft_domain(path)
    holder = column(draft, "ASA")
    change(draft, Mark(holder, "kind", "ASA"), "ordinal")
    assert (holder["levels"], holder["unknown"], holder["null"]) == (
        ["1", "2", "3", "4", "5"],
        "null",
        "category",
    )
    assert taken_in(path, draft) == {"ASA": {"mapped-to-null": 60}}


def test_levels_beside_a_word_for_missing(tmp_path: Path) -> None:
    found = drafted(tmp_path, "ASA", FIVE | {"k.A.": 40})
    assert (found["kind"], found["levels"], found["null"]) == (
        "ordinal",
        ["1", "2", "3", "4", "5"],
        "category",
    )


def test_levels_of_a_frame_with_missing_values() -> None:
    values = [value for value, count in FIVE.items() for _ in range(count)] + [None] * 50
    found = column(draft_frame(pa.Table.from_pandas(pd.DataFrame({"ASA": values}))), "ASA")
    assert (found["kind"], len(found["levels"]), found["null"]) == ("ordinal", 5, "category")


def test_levels_have_the_codes_of_numbers_with_a_bin_each(tmp_path: Path) -> None:
    rows = b"ASA,x3\n" + b"".join(f"{value},{value}\n".encode() * count for value, count in FIVE.items())
    path = write(tmp_path, rows)
    draft = draft_domain(path)
    change(draft, Mark(column(draft, "x3"), "kind", "x3"), "numeric")  # a copy of the first is left out
    domain = TableDomain.from_json(confirmed(draft))
    assert [one.kind for one in domain.modelled] == ["ordinal", "numeric"]
    assert domain.cardinalities == (5, 5)
    assert domain.ordered == (True, True)
