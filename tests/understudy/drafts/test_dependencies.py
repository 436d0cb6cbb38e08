"""Redundant columns: a draft leaves copies out, and proposes a rule for a functional dependency."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.cli import app
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change
from understudy.drafts.dependency_search import DependencySearch
from understudy.drafts.marked_values import Mark, accept_kinds, marks_of
from understudy.drafts.tables import draft_domain, draft_frame, render_draft
from understudy.errors import InputUnusable
from understudy.table_files import MARK

ROWS = 600
LEVELS = ["primary", "secondary", "bachelor", "master", "doctor"]


def census(rows: int = ROWS, **more: Any) -> dict[str, Any]:
    """People with a level of education in words and as a number, and a wage twice."""
    rng = np.random.default_rng(3)
    level = rng.integers(0, 5, rows)
    wage = np.round(rng.lognormal(8, 0.4, rows), 2)
    return {
        "education": [LEVELS[place] for place in level],
        "education_num": [int(place) + 8 for place in level],
        "wage": wage.tolist(),
        "wage_eur": wage.tolist(),
        "age": rng.integers(20, 60, rows).tolist(),
        "sex": rng.choice(["f", "m"], rows).tolist(),
    } | more


def drafted(columns: dict[str, Any]) -> dict[str, Any]:
    return draft_frame(pa.table(columns))


def rules(draft: dict[str, Any]) -> dict[tuple[str, str], list[Any]]:
    return {tuple(rule["columns"]): rule["pairs"] for rule in draft.get("rules", ())}


def written(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "rows.csv"
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_functional_dependency_gets_a_rule_and_a_line(tmp_path: Path) -> None:
    draft = draft_domain(written(tmp_path, census()))
    assert rules(draft) == {
        ("education", "education_num"): [[word, 8 + place] for place, word in enumerate(LEVELS)]
    } or sorted(rules(draft)["education", "education_num"]) == sorted(
        [word, 8 + place] for place, word in enumerate(LEVELS)
    )
    assert (
        "Determined by education in every row: each of its 5 values" in column(draft, "education_num")[NOTE]
    )
    assert draft["rules"][0][MARK] == ["pairs"]
    domain = TableDomain.from_json(confirmed(draft))
    assert [rule.columns for rule in domain.rules] == [("education", "education_num")]


def test_a_copy_is_left_out_with_the_line_that_makes_it_again() -> None:
    found = column(drafted(census()), "wage_eur")
    assert found["kind"] == "ignored"
    assert "Equal to wage in every row" in found[NOTE]
    assert "frame['wage_eur'] = frame['wage']" in found[NOTE]
    assert column(drafted(census()), "wage")["kind"] == "numeric"


def test_a_fixed_multiple_is_a_copy(tmp_path: Path) -> None:
    columns = census()
    columns["yearly"] = [f"{12 * round(100 * wage) / 100:.2f}" for wage in columns["wage"]]
    del columns["wage_eur"]
    note = column(draft_domain(written(tmp_path, columns)), "yearly")[NOTE]
    assert "12 times wage in every row" in note
    assert "frame['yearly'] = frame['wage'] * 12" in note


def test_the_target_stays_whatever_it_copies() -> None:
    columns = census()
    columns["outcome"] = columns["sex"]
    draft = drafted(columns)
    assert draft["target"] == "outcome"
    assert column(draft, "outcome")["kind"] == "categorical"
    assert column(draft, "sex")["kind"] == "ignored"


def test_what_determines_the_target_is_a_warning_and_no_rule() -> None:
    columns = census()
    columns["ward"] = ["ABC"[age % 3] for age in columns["age"]]
    columns["outcome"] = ["bad" if ward == "C" else "good" for ward in columns["ward"]]
    draft = drafted(columns)
    assert ("ward", "outcome") not in rules(draft)
    assert "WARNING: Determined by ward in every row" in column(draft, "outcome")[NOTE]


def test_a_numeric_determinant_has_the_bounds_of_its_pairs() -> None:
    rng = np.random.default_rng(4)
    born = rng.integers(1941, 2008, 4000)
    frame = pa.table({"birth_year": born, "age": 2024 - born, "ward": rng.choice(["a", "b"], 4000)})
    draft = draft_frame(frame)
    rule = draft["rules"][0]
    assert rule["columns"] == ["birth_year", "age"]
    years = [one for one, _ in rule["pairs"]]
    by = column(draft, "birth_year")
    assert (by["lower"], by["upper"]) == (min(years), max(years)) == (1941, 2007)
    assert "span the values that determine age" in by[NOTE]
    assert {"lower", "upper"} <= set(by[MARK])
    assert TableDomain.from_json(confirmed(draft)).kept


def _mothers(ages: np.ndarray, groups: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(5)
    frame = pa.table({"mage": ages, "group": groups, "ward": rng.choice(["a", "b"], len(ages))})
    draft = draft_frame(frame)
    return column(draft, "mage"), draft


def test_rare_values_that_tell_the_same_as_the_outermost_pair_stay_within_the_bounds() -> None:
    """Ages 40 to 47 have few rows each: clamped to 39, that age would have too many."""
    common = np.repeat(np.arange(18, 40), 40)
    ages = np.concatenate([common, np.repeat(np.arange(14, 18), 3), np.repeat(np.arange(40, 48), 3)])
    by, draft = _mothers(ages, ["mature" if age >= 35 else "younger" for age in ages])
    assert (by["lower"], by["upper"]) == (14, 48)
    pairs = rules(draft)["mage", "group"]
    assert pairs == [[{"from": 14, "to": 34}, "younger"], [{"from": 35, "to": 48}, "mature"]]
    assert "The outermost values that determine group also stand for values beyond them." in by[NOTE]
    assert "clamped" not in by[NOTE]
    assert TableDomain.from_json(confirmed(draft)).kept


def test_rare_values_that_tell_something_else_are_clamped_and_the_note_says_how_many() -> None:
    common = np.repeat(np.arange(18, 40), 40)
    ages = np.concatenate([common, np.repeat(np.arange(40, 44), 4)])
    groups = ["oldest" if age >= 40 else "mature" if age >= 35 else "younger" for age in ages]
    by, _ = _mothers(ages, groups)
    assert (by["lower"], by["upper"]) == (18, 39)
    assert "other values (2 % of the rows) are clamped to them" in by[NOTE]
    assert "cover all rows" not in by[NOTE]


@pytest.mark.parametrize("place", [0, 300, ROWS - 1])
def test_one_row_that_says_otherwise_is_enough(place: int) -> None:
    columns = census()
    columns["education_num"][place] = 8 + (columns["education_num"][place] - 7) % 5
    columns["wage_eur"][place] += 0.01
    draft = drafted(columns)
    assert rules(draft) == {}
    assert column(draft, "wage_eur")["kind"] == "numeric"


def test_one_row_of_a_later_batch_is_enough() -> None:
    columns = census(70_000)
    columns["wage_eur"][-1] += 1
    columns["education_num"][-1] = 8 + (columns["education_num"][-1] - 7) % 5
    search = DependencySearch()
    for batch in pa.table(columns).to_batches(1 << 14):
        search.add(batch)
    assert search.copies() == []
    assert not [one for one in search.dependencies() if one.determinant == "education"]


def test_few_rows_claim_nothing() -> None:
    assert rules(drafted(census(30))) == {}, "six rows a value"
    assert column(drafted(census(60)), "wage_eur")["kind"] == "numeric"
    # Every word in two rows determines anything.
    words = {"town": [f"town {n // 2}" for n in range(ROWS)], "side": ["ab"[n // 2 % 2] for n in range(ROWS)]}
    assert rules(drafted(census() | words)).keys() == {("education", "education_num")}


def test_words_of_few_rows_stand_in_no_pair() -> None:
    columns = census()
    columns["education"][:3], columns["education_num"][:3] = ["honorary"] * 3, [20] * 3
    pairs = rules(drafted(columns))["education", "education_num"]
    assert sorted(one for one, _ in pairs) == sorted(LEVELS)


def test_independent_columns_determine_nothing_and_missing_values_are_values_of_a_dependent() -> None:
    columns = census()
    columns["code"] = [{"doctor": None}.get(word, word[0].upper()) for word in columns["education"]]
    draft = drafted(columns)
    assert set(rules(draft)) == {("education", "education_num"), ("education", "code")}
    assert ["doctor", None] in rules(draft)["education", "code"]
    TableDomain.from_json(confirmed(draft))


def test_ages_tell_their_group_in_ranges() -> None:
    columns = census(4000)
    columns["group"] = ["young" if age < 30 else "middle" if age < 50 else "old" for age in columns["age"]]
    draft = drafted(columns)
    assert rules(draft)["age", "group"] == [
        [{"from": 0, "to": 29}, "young"], [{"from": 30, "to": 49}, "middle"], [{"from": 50, "to": 100}, "old"],
    ]  # fmt: skip
    assert column(draft, "age")["upper"] == 100, "the scale of ages, and not the oldest row"
    TableDomain.from_json(confirmed(draft))


def test_a_measurement_does_not_tell_words_by_its_digits() -> None:
    columns = census()
    month = np.random.default_rng(0).integers(0, 12, ROWS)
    columns["index"] = [92 + 0.137 * (place * 5 % 12) for place in month]
    columns["quarter"] = [f"quarter {place // 3}" for place in month]
    assert ("index", "quarter") not in rules(drafted(columns))


def test_a_column_determined_by_learnt_words_gets_a_line_and_no_rule() -> None:
    rng = np.random.default_rng(1)
    code = rng.integers(0, 300, 6000)
    columns = {
        "sort": [f"kind {n}" for n in code],
        "area": [f"area {n % 7}" for n in code],
        "x": rng.choice(["a", "b"], 6000),
    }
    draft = drafted(columns)
    assert column(draft, "sort")["categories"] == "learn"
    assert rules(draft) == {}
    assert "No rule can declare this" in column(draft, "area")[NOTE]
    TableDomain.from_json(confirmed(draft))


def confirm(file: Path, *words: str, answers: str = "") -> str:
    return CliRunner().invoke(app, ["domain", "confirm", str(file), *words], input=answers).output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "domain.json"
    path.write_text(render_draft(draft_domain(written(tmp_path, census()))))
    return path


ALL_BUT_RULES = [
    word
    for kind in ("unit", "size", "target", "file", "names", "kinds", "bounds", "words")
    for word in ("--accept", kind)
]


@pytest.mark.parametrize(("answer", "left"), [("\n", 1), ("a\n", 1), ("?\n\n", 1), ("d\n", 0), ("i\n", 0)])
def test_a_person_is_asked_about_every_drafted_rule(file: Path, answer: str, left: int) -> None:
    said = confirm(file, *ALL_BUT_RULES, answers=answer)
    assert "education determines education_num: " in said
    document = json.loads(file.read_text())
    assert len(document.get("rules", ())) == left
    assert column(document, "education_num")["kind"] == ("ignored" if answer == "i\n" else "numeric")
    document.pop("declared_size")
    assert len(TableDomain.from_json(document).rules) == left


def test_who_accepts_everything_declares_the_rule(file: Path) -> None:
    confirm(file, "--accept", "all")
    document = json.loads(file.read_text())
    assert document["rules"][0].keys() == {"kind", "columns", "pairs"}


def test_pairs_of_words_that_a_person_drops_are_dropped_too() -> None:
    draft = drafted(census())
    change(
        draft,
        Mark(
            column(draft, "education"),
            "levels" if "levels" in column(draft, "education") else "categories",
            "education",
        ),
        "-doctor",
    )
    accept_kinds(draft, ["words"])
    assert sorted(one for one, _ in rules(draft)["education", "education_num"]) == sorted(LEVELS[:-1])


def test_a_rule_follows_a_column_that_is_renamed_or_left_out() -> None:
    draft = drafted(census())
    change(draft, Mark(column(draft, "education"), "name", "education"), "schooling")
    assert rules(draft).keys() == {("schooling", "education_num")}
    change(draft, Mark(column(draft, "schooling"), "kind", "schooling"), "ignored")
    accept_kinds(draft, ["all"])
    assert "rules" not in draft


def test_a_copy_is_kept_if_the_person_says_so() -> None:
    draft = drafted(census())
    change(draft, Mark(column(draft, "wage_eur"), "kind", "wage_eur"), "keep")
    kept, first = column(draft, "wage_eur"), column(draft, "wage")
    assert {**kept, "name": "wage"} == first
    assert {mark.key for mark in marks_of(draft) if mark.column == "wage_eur"} >= {"lower", "upper"}


def test_the_command_says_it_in_lines(tmp_path: Path) -> None:
    rows = written(tmp_path, census())
    said = CliRunner().invoke(app, ["domain", "draft", str(rows), "--out", str(tmp_path / "d.json")]).output
    assert "Drafted rules, which hold in every synthetic row: education determines education_num." in said
    assert "wage_eur: ignored. Equal to wage in every row" in said


@pytest.mark.parametrize(
    "edited", [{"columns": ["code"]}, {"columns": 5}, {"pairs": None}, {"pairs": [1]}, {"pairs": [["a"]]}]
)
def test_a_drafted_rule_that_was_edited_out_of_shape_is_refused_by_its_number(
    edited: dict[str, object],
) -> None:
    rule = {
        "kind": "determines",
        "columns": ["code", "label"],
        "pairs": [["a", "x"], ["b", "y"]],
        MARK: ["pairs"],
    }
    words = [
        {"name": name, "kind": "categorical", "categories": list(listed)}
        for name, listed in (("code", "ab"), ("label", "xy"))
    ]
    accept_kinds({"columns": words, "rules": [dict(rule)]}, ["rules"])
    with pytest.raises(InputUnusable, match="rule 1: a drafted rule has two columns and a list of pairs"):
        accept_kinds({"columns": words, "rules": [rule | edited]}, ["rules"])
