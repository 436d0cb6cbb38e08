"""Columns that follow from two others are told in a draft."""

import pyarrow as pa
import pytest

from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change
from understudy.drafts.confirmation import walk
from understudy.drafts.dependencies import require_possible
from understudy.drafts.display import rule_lines
from understudy.drafts.hints import rules_of
from understudy.drafts.marked_values import Mark, accept_kinds
from understudy.drafts.row_sample import RowSample
from understudy.drafts.sums import propose_sums
from understudy.drafts.tables import draft_frame
from understudy.errors import InputUnusable
from understudy.table_files import MARK


def _amounts(rows: int = 0) -> dict[str, list[float]]:
    """Amounts with a total that is wrong in so many rows."""
    net = [n * 7919 % 997 / 4 for n in range(400)]
    tax = [n * 31 % 89 / 4 for n in range(400)]
    gross = [one + other for one, other in zip(net, tax, strict=True)]
    gross = [total + 0.01 * (n * 7 % 400 < rows) for n, total in enumerate(gross)]
    return {"net": net, "tax": tax, "gross": gross}


RULE = {"kind": "sum", "parts": ["net", "tax"], "total": "gross", MARK: ["parts"]}


@pytest.mark.parametrize(
    ("rows", "said"), [(0, "every row that was compared"), (1, "99.75 % of the rows that were compared")]
)
def test_a_total_of_two_numbers_is_drafted_as_a_rule_and_not_as_a_difference_too(
    rows: int, said: str
) -> None:
    draft = draft_frame(pa.table(_amounts(rows)))
    assert draft["rules"] == [RULE]
    found = column(draft, "gross")
    assert "difference" not in found
    assert f"together, in {said}. A rule is drafted, so that synthetic rows keep it" in found[NOTE]
    assert TableDomain.from_json(confirmed(draft))


def test_a_total_that_fails_in_more_rows_or_only_beside_a_usual_part_is_no_rule() -> None:
    assert "rules" not in draft_frame(pa.table(_amounts(8)))
    table = _amounts(0)
    # With a part that mostly is 0, the total is a copy of the other part, and the sum holds in 99.5 % of the rows by that alone.
    rare = [7.5 if n % 200 == 0 else 0.0 for n in range(400)]
    assert "rules" not in draft_frame(pa.table({"net": table["net"], "rare": rare, "gross": table["net"]}))


def _pupils() -> dict[str, list[int]]:
    enrolled = [n * 37 % 140 + 30 if n % 7 == 0 else 179 + n % 2 for n in range(1400)]
    absent = [min(n * n % 41 + n % 17, total) for n, total in enumerate(enrolled)]
    present = [total - one for total, one in zip(enrolled, absent, strict=True)]
    return {"present": present, "absent": absent, "enrolled": enrolled}


def test_of_a_total_with_a_heap_a_part_is_computed() -> None:
    """Drawn rows lose the heaps of what is computed. Of parts that are alike the wider one is computed: bins of it would blur the other."""
    draft = draft_frame(pa.table(_pupils()))
    rule = {"kind": "sum", "parts": ["present", "absent"], "total": "enrolled", "computed": "present"}
    assert draft["rules"] == [rule | {MARK: ["parts", "computed"]}]
    note = column(draft, "enrolled")[NOTE]
    assert "present is computed, because fewer rows share its most common value" in note
    assert rule_lines(draft) == ["present + absent = enrolled; present is computed."]
    assert TableDomain.from_json(confirmed(draft)).to_json()["rules"] == [rule | {"tolerance": 0}]


def test_heaps_that_are_alike_leave_the_total_computed() -> None:
    table = _pupils()
    heaped = {
        "wage": [0 if n % 3 else one for n, one in enumerate(table["present"])],
        "gain": [n * 53 % 71 for n in range(1400)],
    }
    table = heaped | {"income": [sum(pair) for pair in zip(*heaped.values(), strict=True)]}
    (rule,) = draft_frame(pa.table(table))["rules"]
    assert "computed" not in rule
    assert rule[MARK] == ["parts"]


def test_a_target_that_a_person_chooses_is_not_computed() -> None:
    draft = draft_frame(pa.table(_pupils()))
    draft["target"] = "present"
    require_possible(draft)
    assert [(rule.get("computed"), rule[MARK]) for rule in draft["rules"]] == [(None, ["parts"])]
    assert TableDomain.from_json(confirmed(draft))


@pytest.mark.parametrize("key", ["fixed", "tied"])
def test_a_part_that_is_the_target_or_of_another_rule_is_not_computed(key: str) -> None:
    columns = draft_frame(pa.table(_pupils()))["columns"]
    sample = RowSample()
    sample.add(pa.table(_pupils()).to_batches()[0])
    for named, computed in (((), "present"), (("present",), "absent"), (("present", "absent"), None)):
        (rule,) = propose_sums(columns, sample, **({"fixed": ()} | {key: named}))
        assert rule.get("computed") == computed


def test_no_sum_computes_a_column_of_an_earlier_one() -> None:
    table = _pupils()
    table["trips"] = [n * 53 % 71 for n in range(1400)]
    table["all"] = [one + other for one, other in zip(table["enrolled"], table["trips"], strict=True)]
    draft = draft_frame(pa.table({name: table[name] for name in ("all", *table)}))
    told = [(rule["total"], rule.get("computed")) for rule in draft["rules"]]
    assert told == [("enrolled", "present"), ("all", None)]
    assert TableDomain.from_json(confirmed(draft))


def test_a_person_accepts_a_rule_with_what_it_computes_in_one_answer() -> None:
    said: list[str] = []
    asked: list[str] = []

    def enter(question: str) -> str:
        asked.append(question)
        return ""

    draft = draft_frame(pa.table(_pupils()))
    accept_kinds(draft, ["unit", "size", "target", "file", "names", "kinds", "bounds", "words"])
    walk(draft, enter, said.append)
    assert len(asked) == 1
    assert "[i]gnore the column present, [a]ccept all 1 left" in asked[0]
    assert "\nRULES (1 to confirm)" in said
    assert MARK not in draft["rules"][0]


def test_what_a_rule_computes_follows_its_new_name() -> None:
    draft = draft_frame(pa.table(_pupils()))
    change(draft, Mark(column(draft, "present"), "name", "present"), "attended")
    require_possible(draft)
    assert draft["rules"][0]["computed"] == "attended"
    draft["rules"][0]["computed"] = "nobody"
    with pytest.raises(InputUnusable, match="one of which may be computed"):
        require_possible(draft)


def test_a_total_may_be_a_part_of_another_total_and_comes_first() -> None:
    table = _amounts()
    table["fee"] = [n * 53 % 71 / 4 for n in range(400)]
    table["bill"] = [one + other for one, other in zip(table["gross"], table["fee"], strict=True)]
    found = draft_frame(pa.table({name: table[name] for name in ("bill", *table)}))["rules"]
    assert [(rule["parts"], rule["total"]) for rule in found] == [
        (["net", "tax"], "gross"),
        (["gross", "fee"], "bill"),
    ]


def test_a_total_of_parts_with_more_decimals_has_no_rule() -> None:
    halves = [n % 37 + 0.5 for n in range(400)]
    table = {"one": halves, "other": [n * 7 % 41 + 0.5 for n in range(400)]}
    table["all"] = [sum(pair) for pair in zip(*table.values(), strict=True)]
    draft = draft_frame(pa.table(table))
    assert all(rule["kind"] != "sum" for rule in draft.get("rules", ()))
    assert "Ignore one of the three" in column(draft, "all")[NOTE]


def test_a_person_is_asked_about_the_rule_and_may_drop_it_or_its_total() -> None:
    said: list[str] = []
    for answer, left in (("", ["sum"]), ("d", []), ("i", [])):
        draft = draft_frame(pa.table(_amounts()))
        accept_kinds(draft, ["unit", "size", "target", "file", "names", "kinds", "bounds", "words"])
        walk(draft, lambda _, answer=answer: answer, said.append)
        assert [rule["kind"] for rule in draft.get("rules", ())] == left
        assert column(draft, "gross")["kind"] == ("ignored" if answer == "i" else "numeric")
        assert TableDomain.from_json(confirmed(draft))
    assert "  net + tax = gross" in said


def test_the_rule_follows_what_a_person_changes() -> None:
    draft = draft_frame(pa.table(_amounts()))
    change(draft, Mark(column(draft, "gross"), "name", "gross"), "total")
    require_possible(draft)
    assert draft["rules"] == [RULE | {"total": "total"}]
    change(draft, Mark(column(draft, "tax"), "kind", "tax"), "ignored")
    require_possible(draft)
    assert "rules" not in draft


def test_a_draft_in_python_shows_the_rule() -> None:
    draft = draft_frame(pa.table(_amounts()))
    assert rule_lines(draft) == ["net + tax = gross."]
    assert "net + tax = gross" in rules_of(draft, answer="accept_draft(rules=[])")[0]
