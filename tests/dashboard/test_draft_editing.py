"""A drafted domain is edited in the browser, part by part, without JSON."""

import json
import re
from collections.abc import Callable, Mapping
from html import unescape
from typing import Any

import pyarrow as pa
import pytest

from tests.dashboard.visitor import Visitor, enter
from tests.service.world import World
from understudy.drafts.tables import draft_frame

COLUMNS: list[dict[str, Any]] = [
    {"name": "pupil", "kind": "unit", "records": "learn"},
    {"name": "town", "kind": "categorical", "categories": ["Bath", ' "Old" Quay', "Ely"], "null": "category", "_from_data": ["categories"], "_note": "All words that occur."},
    {"name": "age", "kind": "numeric", "type": "integer", "lower": 4, "upper": 19, "_from_data": ["lower", "upper"]},
    {"name": "fee", "kind": "numeric", "type": "real", "lower": 1, "upper": 900, "edges": [1, 10, 100, 900], "decimals": 2, "specials": [0], "_from_data": ["lower", "upper", "edges"]},
    {"name": "came", "kind": "date", "lower": "2020-01-01", "upper": "2024-12-31", "_from_data": ["lower", "upper"]},
    {"name": "left", "kind": "date", "lower": "2020-01-01", "upper": "2025-12-31", "difference": {"from": "came", "lower": 0, "upper": 400}, "_from_data": ["difference"]},
    {"name": "passed", "kind": "boolean", "true": "yes", "false": "no", "_from_data": ["true", "false"]},
    {"name": "form", "kind": "ignored", "_else": {"kind": "ordinal", "levels": ["1", "2"], "_from_data": ["levels"]}},
]  # fmt: skip
RULES = [{"kind": "at_most", "columns": ["came", "left"], "_from_data": ["columns"]}]
DRAFT: dict[str, Any] = {
    "schema": "understudy.domain/1", "privacy_unit": "pupil", "target": "passed", "csv": {"null_values": ["", "-"]},
    "_from_data": ["privacy_unit", "target"], "columns": COLUMNS, "rules": RULES,
}  # fmt: skip
FACTS = {"name": "pupils", "declared_size": "3500"}


@pytest.fixture(scope="module")
def owner(shared_world: World) -> Visitor:
    """Of drafts that are edited: until one is declared nothing of them is kept."""
    return enter(shared_world, shared_world.owner)


def facts(draft: Mapping[str, Any] = DRAFT) -> dict[str, str]:
    return FACTS | {"domain": json.dumps(draft)}


def form(page: str) -> dict[str, str]:
    """The fields of the page's form that edits, as a browser would send them."""
    found = dict(re.findall(r'<input id="field-\d+" name="(value:[^"]+)" type="text" value="([^"]*)"', page))
    found |= dict(
        re.findall(r'<textarea id="field-\d+" name="(value:[^"]+)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    )
    for name, options in re.findall(
        r'<select id="field-\d+" name="(value:[^"]+)"[^>]*>(.*?)</select>', page, re.DOTALL
    ):
        chosen = re.search(r'value="([^"]*)" selected', options)
        assert chosen, f"nothing is chosen of {name}"
        found[name] = chosen[1]
    return {name: unescape(text) for name, text in found.items()}


def draft_in(page: str) -> Any:
    """The document that a page sends on."""
    return json.loads(unescape(re.findall(r'name="domain" value="([^"]*)"', page)[0]))


def edited(owner: Visitor, place: str, draft: Mapping[str, Any] = DRAFT, **values: str) -> Any:
    """The document after an edit of one part, as the form of that part sends it."""
    shown = owner.send("/datasets/edit", **facts(draft), edit=place)
    assert shown.status_code == 200, shown.text
    fields = form(shown.text)
    given = {f"value:{key}": text for key, text in values.items()}
    assert given.keys() <= fields.keys(), f"{fields.keys()} of {place}"
    answer = owner.send("/datasets/edited", **facts(draft), edit=place, **fields | given)
    assert answer.status_code == 200, answer.text
    return draft_in(answer.text)


def column(document: Any, name: str) -> Any:
    return next(one for one in document["columns"] if one["name"] == name)


@pytest.mark.parametrize("place", ["whole", "csv", *map(str, range(len(COLUMNS))), "rule0"])
def test_a_form_that_is_sent_as_it_is_changes_nothing(owner: Visitor, place: str) -> None:
    assert edited(owner, place) == DRAFT


def test_edited_values_are_declared_with_the_dataset(world: World, sign_in: Callable[..., Visitor]) -> None:
    owner = sign_in("owner")
    draft = edited(owner, "1", categories='Bath\r\n" \\"Old\\" Quay"\r\n York ')
    draft = edited(owner, "2", draft, lower="3", upper="20", outside="refuse")
    draft = edited(owner, "3", draft, upper="500", decimals="1")
    draft = edited(owner, "5", draft, lower="2019-01-01", **{"difference.upper": "700"})
    draft = edited(owner, "4", draft, lower="2019-09-01")
    draft = edited(owner, "0", draft, records="12")
    draft = edited(owner, "csv", draft, null_values='""\n-\n?')
    assert column(draft, "town")["_from_data"] == ["categories"], "what was entered is still to be confirmed"
    found = re.findall(r'name="confirmed" value="(\w+)"', owner.send("/datasets/review", **facts(draft)).text)
    assert "The dataset is declared" in owner.follow("/datasets", **facts(draft), confirmed=found)
    dataset = world.owner.get("/v1/datasets").json()["items"][0]
    domain = world.owner.get(f"/v1/datasets/{dataset['id']}").json()["domain"]
    town = column(domain, "town")
    assert town["categories"] == ["Bath", ' "Old" Quay', "York"]
    assert (town["other"], town["unknown"]) == ("other", "other"), "a word that is left out refuses no row"
    age, fee = column(domain, "age"), column(domain, "fee")
    assert (age["lower"], age["upper"], age["outside"]) == (3, 20, "refuse")
    assert (fee["edges"], fee["upper"], fee["decimals"]) == ([1, 10, 100, 500], 500, 1)
    assert column(domain, "came")["lower"] == "2019-09-01"
    assert column(domain, "left")["difference"]["upper"] == 700
    assert column(domain, "pupil")["records"] == 12
    assert domain["csv"]["null_values"] == ["", "-", "?"]


def test_edges_move_the_bounds(owner: Visitor) -> None:
    fee = column(edited(owner, "3", edges="0.5\n20\n\n1000\n", specials=""), "fee")
    assert (fee["lower"], fee["edges"], fee["upper"], fee["specials"]) == (0.5, [0.5, 20, 1000], 1000, [])


def test_categories_may_be_left_to_be_learnt(owner: Visitor) -> None:
    town = column(edited(owner, "1", categories="learn"), "town")
    assert (town["categories"], town["other"]) == ("learn", True)


def test_another_unit_and_target_are_chosen(owner: Visitor) -> None:
    moved = edited(owner, "whole", privacy_unit="town", target="age", units="60")
    assert (moved["privacy_unit"], moved["target"]) == ("town", "age")
    assert column(moved, "pupil") == {"name": "pupil", "kind": "ignored"}
    assert column(moved, "town") == {
        "name": "town",
        "kind": "unit",
        "records": "learn",
        "_from_data": ["records"],
    }, "else all rows of a town would count as one"
    assert moved["_from_data"] == ["privacy_unit", "target"]
    by_record = edited(owner, "whole", privacy_unit="", target="", units="9000")
    assert (by_record["privacy_unit"], by_record["target"]) == (None, None)
    assert column(by_record, "pupil")["kind"] == "ignored"
    answer = owner.send("/datasets/edited", **facts(), edit="whole", **{"value:target": "pupil"})
    assert answer.status_code == 422
    assert "“Target” has no such choice." in answer.text


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("town", "The declared size 3,500 counts values of pupil. It must now count values of town."),
        ("", "The declared size 3,500 counts values of pupil. It must now count records."),
    ],
)
def test_another_unit_needs_another_size(owner: Visitor, unit: str, said: str) -> None:
    chosen = {"value:privacy_unit": unit}
    refused = owner.send("/datasets/edited", **facts(), edit="whole", **chosen)
    assert refused.status_code == 422
    assert said in refused.text
    assert "“New declared size”" in refused.text
    assert form(refused.text)["value:privacy_unit"] == unit, "what was chosen is kept"
    for wrong in ("0", "-4", "many", "1.5"):
        answer = owner.send("/datasets/edited", **facts(), edit="whole", **chosen, **{"value:units": wrong})
        assert answer.status_code == 422
        assert "“New declared size” is not a whole number above 0." in answer.text
    same = owner.send("/datasets/edited", **facts(), edit="whole", **chosen, **{"value:units": "3500"})
    assert same.status_code == 200, "entered again, the same number is confirmed"
    taken = owner.send("/datasets/edited", **facts(), edit="whole", **chosen, **{"value:units": "1 250"})
    assert 'name="declared_size" value="1250"' in taken.text


def test_a_unit_that_is_left_out_needs_another_unit_first(owner: Visitor) -> None:
    answer = owner.send("/datasets/edited", **facts(), edit="0", do="leave-out")
    assert answer.status_code == 422
    assert "It must now count records." in answer.text


def test_the_notes_of_a_draft_speak_of_the_new_unit(owner: Visitor) -> None:
    rows = pa.table({
        "club_id": [f"K{n % 60:03d}" for n in range(600)],
        "town_id": [f"T{n % 90:03d}" for n in range(600)],
        "once": list(range(600)),
        "x": ["a", "b", "c"] * 200,
    })  # fmt: skip
    draft = draft_frame(rows)
    assert "Each row is protected by itself" in draft["_note"]
    moved = edited(owner, "whole", draft, privacy_unit="club_id", units="60")
    assert "Each row is protected by itself" not in moved["_note"]
    assert "All records with the same club_id are protected together" in moved["_note"]
    assert column(moved, "club_id")["records"] == "learn"
    assert "make it the privacy unit" not in json.dumps(moved)
    again = edited(owner, "whole", moved, privacy_unit="", units="600")
    assert "All records with the same" not in again["_note"]
    assert "Each record is protected by itself" in again["_note"]
    alone = edited(owner, "whole", draft, privacy_unit="once", units="600")
    assert "records" not in column(alone, "once"), "a unit of one row needs no bound"


def test_a_column_is_left_out_with_what_needs_it(owner: Visitor) -> None:
    answer = owner.send("/datasets/edited", **facts(), edit="4", do="leave-out")
    assert answer.status_code == 200, answer.text
    left = draft_in(answer.text)
    assert column(left, "came") == {"name": "came", "kind": "ignored"}
    assert "difference" not in column(left, "left")
    assert "_from_data" not in column(left, "left"), "no mark is left of what is gone"
    assert "rules" not in left
    target = draft_in(owner.send("/datasets/edited", **facts(), edit="6", do="leave-out").text)
    assert target["target"] is None


def test_a_rule_is_dropped_and_a_column_that_was_left_out_is_kept(owner: Visitor) -> None:
    shown = owner.send("/datasets/edit", **facts(), edit="rule0").text
    assert "Edit Rule of came, left" in shown
    assert "Drop this rule" in shown
    assert "rules" not in draft_in(
        owner.send("/datasets/edited", **facts(), edit="rule0", do="leave-out").text
    )
    assert "Keep this column" in owner.send("/datasets/edit", **facts(), edit="7").text
    kept = draft_in(owner.send("/datasets/edited", **facts(), edit="7", do="keep").text)
    assert column(kept, "form") == {
        "name": "form",
        "kind": "ordinal",
        "levels": ["1", "2"],
        "_from_data": ["levels"],
    }
    assert owner.send("/datasets/edited", **facts(), edit="6", do="keep").status_code == 422


@pytest.mark.parametrize(
    ("place", "values", "said"),
    [
        ("2", {"lower": "four"}, "“Smallest value” is not a number."),
        ("2", {"lower": ""}, "“Smallest value” is empty."),
        ("2", {"lower": "nan"}, "“Smallest value” is not a number."),
        ("2", {"lower": "30"}, "domain-invalid"),
        ("3", {"edges": "1\nx"}, "“Bin edges” is not a number."),
        ("1", {"categories": " \n"}, "“Categories” is empty."),
        ("1", {"categories": '"Bath'}, "one double quote"),
        ("1", {"categories": "Bath\nBath"}, "domain-invalid"),
        ("1", {"categories": "all"}, "This page lists no book of codes."),
        ("2", {"outside": "drop"}, "has no such choice."),
        ("4", {"lower": "soon"}, "domain-invalid"),
    ],
)
def test_a_refused_edit_keeps_what_was_entered(
    owner: Visitor, place: str, values: dict[str, str], said: str
) -> None:
    given = {f"value:{key}": text for key, text in values.items()}
    answer = owner.send("/datasets/edited", **facts(), edit=place, **given, confirmed=["whole", "6"])
    assert answer.status_code == 422
    assert said in answer.text
    assert draft_in(answer.text) == DRAFT
    shown = form(answer.text) if "outside" not in values else {}
    assert all(shown[name] == text for name, text in given.items() if name in shown)
    assert re.findall(r'name="confirmed" value="(\w+)"', answer.text) == ["whole", "6"]


@pytest.mark.parametrize("place", ["8", "-1", "rule1", "rule", "x", "²", "", "99999999999999999999"])
def test_no_part_is_no_crash(owner: Visitor, place: str) -> None:
    for path in ("/datasets/edit", "/datasets/edited"):
        assert owner.send(path, **facts(), edit=place).status_code == 422


@pytest.mark.parametrize(
    "wrong",
    [
        {"rules": [{"kind": "at_most", "columns": 5}]},
        {"rules": [5]},
        {"columns": [5, *COLUMNS[1:]]},
        {"columns": [*COLUMNS[:3], COLUMNS[3] | {"lower": "1"}, *COLUMNS[4:]]},
        {"columns": [*COLUMNS[:2], COLUMNS[2] | {"_from_data": [["lower"], {}]}, *COLUMNS[3:]]},
    ],
)
@pytest.mark.parametrize("place", ["1", "2", "3", "whole"])
def test_an_odd_document_is_refused_or_edited_and_never_fails(
    owner: Visitor, wrong: dict[str, Any], place: str
) -> None:
    for sent in ({}, {"do": "leave-out"}, {"do": "keep"}, {"value:upper": "21"}, {"value:edges": "1\n900"}):
        for path in ("/datasets/edit", "/datasets/edited"):
            assert owner.send(path, **facts(DRAFT | wrong), edit=place, **sent).status_code in {200, 422}


def test_ticks_stay_but_the_one_of_the_edited_part(owner: Visitor) -> None:
    ticks = ["whole", "1", "2", "rule0", "all-categories"]
    answer = owner.send(
        "/datasets/edited", **facts(), edit="2", confirmed=ticks, **{"value:upper": "18"}
    ).text
    assert re.findall(r'value="(\w+)" data-of="\w+" checked', answer) == ["whole", "1", "6", "rule0"]
    assert 'data-all="categories" checked' in answer, "none of its places was edited"


def test_only_an_owner_edits(sign_in: Callable[..., Visitor]) -> None:
    for path in ("/datasets/edit", "/datasets/edited"):
        assert sign_in("analyst").send(path, **facts(), edit="1").status_code == 403


def test_labels_of_images_are_edited(owner: Visitor) -> None:
    draft = {
        "schema": "understudy.images/1", "width": 8, "height": 8, "channels": 1, "labels": ["cat", "dog"],
        "privacy_unit": None, "_from_data": ["labels"],
    }  # fmt: skip
    assert edited(owner, "whole", draft, labels="cat\ndog\nhorse")["labels"] == [
        "cat",
        "dog",
        "horse",
    ]


def test_a_table_of_many_columns_is_confirmed_box_by_box(sign_in: Callable[..., Visitor]) -> None:
    columns = [
        {"name": f"q{number}", "kind": "boolean", "true": "1", "false": "0", "_from_data": ["true"]}
        for number in range(400)
    ]
    draft = {"schema": "understudy.domain/1", "privacy_unit": None, "columns": columns}
    ticks = [str(number) for number in range(400)]
    assert "The dataset is declared" in sign_in("owner").follow("/datasets", **facts(draft), confirmed=ticks)


def _ticks(page: str) -> set[str]:
    return set(re.findall(r'name="confirmed" value="([\w-]+)"[^>]* checked>', page))


def _left(page: str) -> list[str]:
    """The places that the page names as left to confirm."""
    return re.findall(r'<li data-left="(\w+)"><a href="#at-', page)


def test_a_tick_of_a_group_stays_for_its_other_places_after_an_edit(owner: Visitor) -> None:
    ticked = ["all-numbers", "all-times", "whole"]
    edit = {"edit": "2", "value:lower": "3", "value:upper": "20"}
    page = owner.send("/datasets/edited", **facts(), confirmed=ticked, **edit).text
    assert _ticks(page) == {"3", "4", "5", "all-times", "whole"}, "fee stays, age was edited"
    assert _left(page) == ["1", "6", "2", "rule0"]
    again = owner.send(
        "/datasets/edited",
        **facts(draft_in(page)),
        confirmed=["3", "all-times", "whole", "all-categories", "rule0"],
        **edit,
    )
    assert _ticks(again.text) >= {"1", "6", "all-categories", "all-times", "rule0"}
    assert _left(again.text) == ["2"]
    declared = owner.send("/datasets", **facts(draft_in(again.text)), confirmed=sorted(_ticks(again.text)))
    assert declared.status_code == 422, "the edited column is left"
    assert _left(declared.text) == ["2"]
    assert _left(owner.send("/datasets/review", **facts()).text) == [], "nothing is ticked yet"


def test_ticks_stay_with_values_and_not_with_numbers(owner: Visitor) -> None:
    rules = [*RULES, {"kind": "null_together", "columns": ["age", "fee"], "_from_data": ["columns"]}]
    nulls = [{**one, "null": "category"} if one["name"] in {"age", "fee"} else one for one in COLUMNS]
    draft = {**DRAFT, "columns": nulls, "rules": rules}
    page = owner.send(
        "/datasets/edited", **facts(draft), confirmed=["rule1"], edit="rule0", do="leave-out"
    ).text
    assert _ticks(page) == {"rule0"}, "the rule that was the second"
    page = owner.send(
        "/datasets/edited", **facts(draft), confirmed=["rule0"], edit="rule0", do="leave-out"
    ).text
    assert _ticks(page) == set(), "another rule has its number now"
    page = owner.send("/datasets/edited", **facts(), confirmed=["5", "whole"], edit="4", do="leave-out").text
    assert _ticks(page) == {"whole"}, "the distance from the other column is gone"
    page = owner.send("/datasets/edited", **facts(), confirmed=["5", "whole"], edit="6", do="leave-out").text
    assert _ticks(page) == {"5"}, "the target was left out"
