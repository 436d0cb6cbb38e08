"""Numbers that are the time between two dates are drafted as rules, also where some rows contradict them."""

from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import ignore, known_column
from understudy.drafts.dependencies import require_possible
from understudy.drafts.display import rule_lines
from understudy.drafts.hints import rules_of
from understudy.drafts.tables import draft_frame
from understudy.errors import InputUnusable
from understudy.table_files import MARK

ROWS = 400
FIRST = datetime.fromisoformat("2021-01-04T07:00")
BEGUN = [FIRST + timedelta(days=n * 37 % 900, minutes=n * 53 % 1000) for n in range(ROWS)]
STAYS = [n * n % 41 + n % 5 for n in range(ROWS)]
ENDED = [begun.date() + timedelta(days=stay) for begun, stay in zip(BEGUN, STAYS, strict=True)]
BORN = [date(1931, 3, 1) + timedelta(days=n * 7919 % 25_000) for n in range(ROWS)]
AGES = [
    begun.year - born.year - ((begun.month, begun.day) < (born.month, born.day))
    for born, begun in zip(BORN, BEGUN, strict=True)
]


def with_errors(values: list[int], count: int) -> list[int]:
    """The values, of which some are off by one."""
    return [value + (place % (ROWS // count) == 0 if count else False) for place, value in enumerate(values)]


def table(**columns: Any) -> dict[str, Any]:
    return draft_frame(pa.table({"admission": BEGUN, "discharge": ENDED, "born": BORN, **columns}))


def rules(draft: dict[str, Any]) -> list[dict[str, Any]]:
    return [rule for rule in draft.get("rules", []) if rule["kind"] == "duration"]


STAY = {
    "kind": "duration",
    "columns": ["admission", "discharge", "los"],
    "unit": "day",
    MARK: ["columns", "unit"],
}
AGE = {"kind": "duration", "columns": ["born", "admission", "age"], "unit": "year", MARK: ["columns", "unit"]}


@pytest.mark.parametrize(("wrong", "share"), [(0, None), (1, "99.8"), (16, "96.0")])
def test_lengths_of_stay_and_ages_are_rules_with_the_share_of_rows_that_keep_them(
    wrong: int, share: str | None
) -> None:
    draft = table(los=with_errors(STAYS, wrong), age=with_errors(AGES, wrong))
    assert rules(draft) == [STAY, AGE]
    compared = (
        "every row" if share is None else f"{share} % of the rows that were compared; the others contradict"
    )
    note = column(draft, "los")[NOTE]
    assert f"Follows from others: the days from admission to discharge, in {compared}" in note
    assert "A rule is drafted, so that it is computed in synthetic rows" in note
    assert f"the years from born to admission, in {compared}" in column(draft, "age")[NOTE]
    assert TableDomain.from_json(confirmed(draft))
    assert "los is the number of whole days from admission to discharge." in rule_lines(draft)
    assert "age = years from born to admission" in rules_of(draft, answer="x")[0]


@pytest.mark.parametrize(("wrong", "share"), [(40, "90.0"), (100, None)])
def test_where_more_rows_contradict_it_there_is_a_note_or_nothing(wrong: int, share: str | None) -> None:
    draft = table(los=with_errors(STAYS, wrong))
    assert rules(draft) == []
    note = column(draft, "los")[NOTE]
    assert ("Follows" in note) is (share is not None)
    if share is not None:
        assert f"in {share} % of the rows that were compared; the others contradict the dates" in note
        assert "ignore it, and compute it from synthetic rows" in note


def test_a_duration_with_decimals_and_a_target_are_noted_alone() -> None:
    ended = [begun + timedelta(minutes=7 * stay) for begun, stay in zip(BEGUN, STAYS, strict=True)]
    hours = [7 * stay / 60 for stay in STAYS]
    draft = draft_frame(pa.table({"begun": BEGUN, "ended": ended, "hours": hours}))
    assert "the hours from begun to ended, in every row" in column(draft, "hours")[NOTE]
    assert rules(draft) == []
    minutes = [7 * stay for stay in STAYS]
    draft = draft_frame(pa.table({"begun": BEGUN, "ended": ended, "lasted": minutes}))
    assert [(rule["columns"], rule["unit"]) for rule in rules(draft)] == [
        (["begun", "ended", "lasted"], "minute")
    ]
    draft = draft_frame(pa.table({"begun": BEGUN, "ended": ended, "target": minutes}))
    assert draft["target"] == "target"
    assert rules(draft) == []
    assert "Follows from others" in column(draft, "target")[NOTE]


def test_missing_dates_leave_the_rule_and_chance_makes_none() -> None:
    draft = table(los=[None if n % 3 == 0 else stay for n, stay in enumerate(STAYS)])
    assert rules(draft) == [STAY]
    assert rules(table(los=[n * 31 % 41 + n % 5 for n in range(ROWS)])) == []
    assert rules(table(los=[1] * ROWS)) == []


def test_a_rule_goes_with_its_columns_and_must_stay_whole() -> None:
    draft = table(los=STAYS, age=AGES)
    ignore(draft, known_column(draft, "discharge"))
    require_possible(draft)
    assert rules(draft) == [AGE]
    draft["target"] = "age"
    require_possible(draft)
    assert rules(draft) == []
    edited = table(los=STAYS)
    del rules(edited)[0]["unit"]
    with pytest.raises(InputUnusable, match="a duration has three columns and a unit"):
        require_possible(edited)


def test_a_count_that_is_mostly_zero_is_no_duration_of_dates_that_are_close() -> None:
    """Equal in most rows alone means that both are mostly one number."""
    retries = [(n % 6 == 0) * (1 + n // 6 % 4) for n in range(ROWS)]
    soon = [begun.date() + timedelta(days=n % 4) for n, begun in enumerate(BEGUN)]
    draft = draft_frame(pa.table({"booked": BEGUN, "settled": soon, "retries": retries}))
    assert "Follows" not in column(draft, "retries").get(NOTE, "")
    assert rules(draft) == []
