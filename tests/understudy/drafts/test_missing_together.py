"""A draft proposes the rule that columns are missing in the same rows, and takes what a person leaves out from it."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.plan.domain.rules.reading import MAXIMUM_RULES
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import ignore
from understudy.drafts.confirmation import walk
from understudy.drafts.dependencies import require_possible
from understudy.drafts.display import rule_lines
from understudy.drafts.hints import rules_of
from understudy.drafts.tables import MOST_RULES, draft_domain, draft_frame
from understudy.table_files import MARK

RNG = np.random.default_rng(5)
ROWS = 400
MADE = RNG.random(ROWS) < 0.7
"""Rows in which a test was made."""


def results(made: np.ndarray = MADE, **more: Any) -> pa.Table:
    """Three results of a test, of which a number, words and a date are missing where it was not made; and an age."""
    days = np.datetime64("2024-01-01") + RNG.integers(0, 300, ROWS)
    columns = {
        "age": pa.array(RNG.integers(20, 90, ROWS)),
        "level": pa.array(np.round(RNG.normal(50, 10, ROWS), 1), mask=~made),
        "verdict": pa.array(RNG.choice(["good", "bad"], ROWS), mask=~made),
        "day": pa.array(days, mask=~made),
    }
    return pa.table(columns | more)


def rules(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = draft_frame(table).get("rules", [])
    return [rule for rule in found if rule["kind"] == "null_together"]


def test_columns_that_are_missing_in_the_same_rows_have_a_rule_and_a_note() -> None:
    draft = draft_frame(results())
    assert draft["rules"] == [
        {"kind": "null_together", "columns": ["level", "verdict", "day"], MARK: ["columns"]}
    ]
    assert "Missing in the same rows as level, in every row that was compared" in column(draft, "day")[NOTE]
    assert "Missing in the same rows" not in column(draft, "level")[NOTE] + column(draft, "age")[NOTE]
    assert rule_lines(draft) == ["level, verdict, day: all missing or none missing."]
    assert "level, verdict, day missing together" in rules_of(draft, answer="drop")[0]


def test_the_confirmed_rule_is_one_of_a_domain() -> None:
    domain = TableDomain.from_json(confirmed(draft_frame(results())))
    assert [rule.kind for rule in domain.rules] == ["null_together"]


def test_one_row_that_has_one_result_alone_takes_its_column_from_the_rule() -> None:
    once = MADE.copy()
    once[np.flatnonzero(~MADE)[0]] = True
    table = results(other=pa.array(RNG.normal(0, 1, ROWS), mask=~once))
    assert rules(table)[0]["columns"] == ["level", "verdict", "day"]


@pytest.mark.parametrize("few", [29, ROWS - 29])
def test_few_rows_are_no_rule(few: int) -> None:
    made = np.arange(ROWS) < few
    assert rules(results(made)) == []
    assert rules(results(np.arange(ROWS) < few + (1 if few < ROWS / 2 else -1)))


def test_texts_of_a_file_that_mean_missing_count_as_missing(tmp_path: Any) -> None:
    lines = [
        f"{place},{place % 40 + 0.5},{('good', 'bad')[place % 2]}" if made else f"{place},k.A.,k.A."
        for place, made in enumerate(MADE)
    ]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["place,level,verdict", *lines]) + "\n")
    draft = draft_domain(file)
    assert [rule["columns"] for rule in draft["rules"] if rule["kind"] == "null_together"] == [
        ["level", "verdict"]
    ]


def test_no_rule_may_change_the_target() -> None:
    assert all(
        "target" not in rule["columns"]
        for rule in rules(results().rename_columns(["age", "level", "target", "day"]))
    )


def test_a_column_that_a_person_leaves_out_is_taken_from_the_rule() -> None:
    draft = draft_frame(results())
    ignore(draft, column(draft, "level"))
    require_possible(draft)
    assert draft["rules"][0]["columns"] == ["verdict", "day"]
    ignore(draft, column(draft, "day"))
    require_possible(draft)
    assert "rules" not in draft


def test_a_person_is_asked_about_the_rule_and_may_drop_it() -> None:
    draft, said = draft_frame(results()), list[str]()

    def answer(question: str) -> str:
        return "d" if "[d]rop" in question else "a" if "all" in question else ""

    walk(draft, answer, said.append)
    assert "  level, verdict, day: all missing or none missing" in said
    assert "rules" not in draft


def test_a_draft_has_no_more_rules_than_the_service_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_RULES == MAXIMUM_RULES
    monkeypatch.setattr("understudy.drafts.tables.MOST_RULES", 2)
    wide = {}
    for group, size in enumerate((2, 3, 2, 3)):
        made = RNG.random(ROWS) < 0.6
        for place in range(size):
            wide[f"{group}.{place}"] = pa.array(RNG.normal(0, 1, ROWS), mask=~made)
    assert [len(rule["columns"]) for rule in rules(pa.table(wide))] == [3, 3]
