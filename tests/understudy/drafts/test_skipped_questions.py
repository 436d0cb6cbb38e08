"""A draft proposes the rule that a column is missing by the words of another one, as skipped questions are."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.plan.domain.errors import DomainInvalid
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import ignore
from understudy.drafts.confirmation import walk
from understudy.drafts.dependencies import require_possible
from understudy.drafts.display import rule_lines
from understudy.drafts.hints import rules_of
from understudy.drafts.tables import draft_domain, draft_frame
from understudy.table_files import MARK

RNG = np.random.default_rng(5)
ROWS = 2000
SMOKES = RNG.choice(["never", "before", "now"], ROWS, p=[0.5, 0.2, 0.3])
WORK = RNG.choice(["retired", "employed", "student"], ROWS)
REFUSED = RNG.random(ROWS) < 0.1


def answers(**more: Any) -> pa.Table:
    """Cigarettes of those who smoke now, wages of the employed who answer, and ages."""
    columns = {
        "age": pa.array(RNG.integers(20, 90, ROWS)),
        "smokes": pa.array(SMOKES),
        "cigarettes": pa.array(RNG.integers(1, 40, ROWS), mask=SMOKES != "now"),
        "work": pa.array(WORK),
        "wage": pa.array(RNG.integers(900, 9000, ROWS), mask=(WORK != "employed") | REFUSED),
    }
    return pa.table(columns | more)


def rules(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = draft_frame(table).get("rules", [])
    return [rule for rule in found if rule["kind"] == "impossible"]


def test_a_question_that_words_skip_has_a_rule_and_a_note() -> None:
    draft = draft_frame(answers())
    assert draft["rules"] == [
        {
            "kind": "impossible",
            "columns": ["smokes", "cigarettes"],
            "combinations": [[{"one_of": ["before", "never"]}, {"not": None}], ["now", None]],
            MARK: ["combinations"],
        },
        {
            "kind": "impossible",
            "columns": ["work", "wage"],
            "combinations": [[{"one_of": ["retired", "student"]}, {"not": None}]],
            MARK: ["combinations"],
        },
    ]
    assert (
        "Missing in every row that was compared in which smokes is 'before' or 'never', and in none in which it is 'now'."
        in column(draft, "cigarettes")[NOTE]
    )
    assert rule_lines(draft) == [
        "cigarettes is missing always where smokes is before or never, never where smokes is now.",
        "wage is missing always where work is retired or student.",
    ]
    assert "cigarettes missing by smokes, wage missing by work" in rules_of(draft, answer="drop")[0]


def test_the_confirmed_rules_are_those_of_a_domain_and_read_back() -> None:
    document = confirmed(draft_frame(answers()))
    domain = TableDomain.from_json(document)
    assert [rule.kind for rule in domain.rules] == ["impossible", "impossible"]
    assert domain.to_json()["rules"] == document["rules"]


@pytest.mark.parametrize("row", np.flatnonzero(SMOKES == "never")[[0, -1]])
def test_one_row_with_an_answer_takes_its_word_from_the_rule(row: int) -> None:
    asked = (SMOKES == "now") | (np.arange(ROWS) == row)
    (rule,) = rules(answers(cigarettes=pa.array(RNG.integers(1, 40, ROWS), mask=~asked)))[:1]
    assert rule["combinations"][0] == ["before", {"not": None}]


def test_words_that_are_missing_by_chance_are_no_rule() -> None:
    """Nineteen of twenty values are missing, so fifty rows of a word without one are no wonder."""
    rare = np.where(np.arange(ROWS) < 50, "rare", "common")
    mask = (RNG.random(ROWS) < 0.95) | (rare == "rare")
    assert rules(answers(cigarettes=pa.array(np.arange(ROWS), mask=mask), kind=pa.array(rare))) == rules(
        answers(cigarettes=pa.array(np.arange(ROWS)))
    )


def test_few_rows_are_no_rule() -> None:
    some = answers().slice(0, 60)
    assert rules(some) == []


def test_columns_that_are_missing_together_have_one_rule_of_their_own_and_one_of_the_words() -> None:
    brand = pa.array(RNG.choice(["a", "b"], ROWS), mask=SMOKES != "now")
    draft = draft_frame(answers(brand=brand))
    assert [rule["columns"] for rule in draft["rules"]] == [
        ["cigarettes", "brand"],
        ["smokes", "cigarettes"],
        ["work", "wage"],
    ]


@pytest.mark.parametrize("name", ["smokes", "cigarettes"])
def test_no_rule_may_change_the_target(name: str) -> None:
    names = [("target" if each == name else each) for each in answers().column_names]
    assert [rule["columns"] for rule in rules(answers().rename_columns(names))] == [["work", "wage"]]


def test_texts_of_a_file_that_mean_missing_count_as_missing(tmp_path: Any) -> None:
    lines = [
        f"{place % 70 + 20},{word},{place % 30 + 1 if word == 'now' else 'k.A.'}"
        for place, word in enumerate(SMOKES)
    ]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["age,smokes,cigarettes", *lines]) + "\n")
    (rule,) = (rule for rule in draft_domain(file)["rules"] if rule["kind"] == "impossible")
    assert rule["columns"] == ["smokes", "cigarettes"]


def test_words_and_columns_that_a_person_drops_are_taken_from_the_rule() -> None:
    draft = draft_frame(answers())
    column(draft, "smokes")["categories"].remove("never")
    ignore(draft, column(draft, "wage"))
    require_possible(draft)
    (rule,) = draft["rules"]
    assert rule["combinations"] == [["before", {"not": None}], ["now", None]]


@pytest.mark.parametrize("edited", [{"from": "a"}, {"one_of": "never"}, {}])
def test_what_a_person_wrote_in_a_rule_is_left_to_the_domain(edited: dict[str, Any]) -> None:
    draft = draft_frame(answers())
    draft["rules"][0]["combinations"] = [[edited, None]]
    require_possible(draft)
    assert draft["rules"][0]["combinations"] == [[edited, None]]
    assert "cigarettes is missing never where smokes is" in rule_lines(draft)[0]
    with pytest.raises(DomainInvalid) as refused:
        TableDomain.from_json(confirmed(draft))
    assert refused.value.pointer.startswith("/rules/0/combinations/0/0")


def test_a_person_is_asked_about_the_rule_and_may_drop_it() -> None:
    draft, said = draft_frame(answers()), list[str]()

    def answer(question: str) -> str:
        return "d" if "[d]rop" in question else "a" if "all" in question else ""

    walk(draft, answer, said.append)
    assert "  wage is missing always where work is retired or student" in said
    assert "rules" not in draft
