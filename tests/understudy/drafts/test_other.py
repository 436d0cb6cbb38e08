"""A word "other" in the rows counts as the "other" of a domain, and is not listed beside it."""

import copy
from pathlib import Path

import pytest

from core.plan.domain.errors import DomainInvalid
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed, taken_in, write
from understudy.drafts.changes import change
from understudy.drafts.marked_values import marks_of
from understudy.drafts.tables import draft_domain


def _drafted(folder: Path, *, rare: bool) -> dict:
    words = ["hs", "blood", "other", "id"]
    texts = [words[n % 4] for n in range(2000)] + (["haem", "mother"] if rare else [])
    rows = "".join(f"{text},{n % 7}\n" for n, text in enumerate(texts))
    return draft_domain(write(folder, f"category,visits\n{rows}".encode()))


def test_it_is_left_out_where_rare_words_are_left_to_other(tmp_path: Path) -> None:
    draft = _drafted(tmp_path, rare=True)
    found = column(draft, "category")
    assert (found["categories"], found["other"]) == (["blood", "hs", "id"], True)
    assert taken_in(tmp_path / "rows.csv", draft) == {"category": {"mapped-to-other": 2}}, (
        "the word is no other one"
    )


def test_it_stays_a_category_where_nothing_is_left_to_other(tmp_path: Path) -> None:
    found = column(_drafted(tmp_path, rare=False), "category")
    assert (found["categories"], found["other"]) == (["blood", "hs", "id", "other"], False)


def test_it_is_left_out_where_a_person_drops_a_word(tmp_path: Path) -> None:
    draft = _drafted(tmp_path, rare=False)
    mark = next(mark for mark in marks_of(draft) if mark.key == "categories")
    change(draft, mark, "-hs")
    found = column(draft, "category")
    assert (found["categories"], found["other"]) == (["blood", "id"], True)
    TableDomain.from_json(confirmed(draft))


def test_the_refusal_of_both_says_to_leave_the_word_out(tmp_path: Path) -> None:
    document = copy.deepcopy(confirmed(_drafted(tmp_path, rare=False)))
    document["columns"][0]["other"] = True
    with pytest.raises(DomainInvalid) as refused:
        TableDomain.from_json(document)
    assert "Leave the word out of the list" in str(refused.value.remedy)
