"""What ``understudy domain draft`` wrote, declared through the pages as it is."""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

from tests.core.data.pictures import images, noise, npz
from tests.dashboard.visitor import Visitor
from tests.service.world import CSV, DOMAIN, World
from understudy.drafts.images import draft_images
from understudy.drafts.tables import draft_domain


def steps(page: str) -> list[str]:
    """How a page shows each step of declaring."""
    listed = re.search(r'<ol class="steps">(.*?)</ol>', page, re.DOTALL)
    assert listed, "no steps"
    return [
        "done" if "past" in kind and ": done" in text else "now" if "aria-current" in kind else "waits"
        for kind, text in re.findall(r"<li([^>]*)>(.*?)</li>", listed[1], re.DOTALL)
    ]


@pytest.mark.parametrize("kind", ["table", "images"])
def test_what_the_command_drafted_is_taken_as_it_is(
    world: World, sign_in: Callable[..., Visitor], tmp_path: Path, kind: str
) -> None:
    """A draft proposes a size, which is no part of a domain: the page it is meant for refused it."""
    table = kind == "table"
    rows = tmp_path / ("rows.csv" if table else "images.npz")
    rows.write_bytes(
        CSV if table else npz(images=noise(images(), 20), labels=np.arange(20, dtype=np.uint8) % 2)
    )
    drafted = draft_domain(rows) if table else draft_images(rows)
    assert "declared_size" in drafted["_from_data"]
    owner = sign_in("owner")
    facts = {"name": kind, "declared_size": "1000", "domain": json.dumps(drafted)}
    looked = owner.send("/datasets/review", **facts)
    assert looked.status_code == 200, looked.text
    assert steps(owner.page("/datasets/new")) == ["now", "waits", "waits"]
    assert steps(looked.text) == ["done", "now", "waits"]
    assert "declared_size: <mark>" not in looked.text, "the form's own size is not the draft's"
    found = re.findall(r'name="confirmed" value="(\w+)"', looked.text)
    assert "whole" in found, "of a table the privacy unit and the target, of images their labels"
    assert owner.send("/datasets", **facts).status_code == 422, "nothing is confirmed"
    declared = owner.follow("/datasets", **facts, confirmed=found)
    assert "The dataset is declared" in declared
    assert steps(declared) == ["done", "done", "now"]
    dataset = world.owner.get("/v1/datasets").json()["items"][0]
    assert (dataset["name"], dataset["declared_size"]) == (kind, 1000)


def test_a_drafted_rule_and_the_words_of_a_file_are_confirmed_one_by_one(
    sign_in: Callable[..., Visitor], tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    lines = [f"{'abc'[n % 3]},{['north', 'south', 'west'][n % 3]},{n % 7}" for n in range(300)]
    rows.write_text("\n".join(["code,label,x", *lines]) + "\n")
    owner = sign_in("owner")
    facts = {"name": "coded", "declared_size": "300", "domain": json.dumps(draft_domain(rows))}
    looked = owner.send("/datasets/review", **facts)
    found = re.findall(r'name="confirmed" value="(\w+)"', looked.text)
    assert {"csv", "rule0"} <= set(found)
    assert "Rule of label, code" in looked.text or "Rule of code, label" in looked.text
    for place in ("csv", "rule0"):
        others = [one for one in found if one != place]
        assert owner.send("/datasets", **facts, confirmed=others).status_code == 422
    assert "The dataset is declared" in owner.follow("/datasets", **facts, confirmed=found)


def test_every_value_that_becomes_public_is_on_the_page_by_itself(sign_in: Callable[..., Visitor]) -> None:
    schools = [f"Academy of St. {name}, Lower and Middle" for name in map(str, range(60))] + ["  ", "García"]
    columns: list[dict[str, object]] = [
        {"name": "school", "kind": "categorical", "categories": schools, "_from_data": ["categories"], "_note": "All words <that> occur."},
        {"name": "sex", "kind": "categorical", "categories": ["F", "M"], "_from_data": ["categories"]},
        {"name": "days", "kind": "numeric", "type": "integer", "lower": 0, "upper": 179, "_from_data": ["upper"]},
    ]  # fmt: skip
    document = {
        "schema": "understudy.domain/1", "privacy_unit": None, "_note": "A draft: confirm it. Each row is a pupil.",
        "declared_size": 3500, "target": "sex", "_from_data": ["declared_size", "target"], "columns": columns,
    }  # fmt: skip
    owner = sign_in("owner")
    facts = {"name": "pupils", "declared_size": "3500", "domain": json.dumps(document)}
    looked = owner.send("/datasets/review", **facts).text
    marked = [unescape(text) for text in re.findall(r"<mark>(.*?)</mark>", looked, re.DOTALL)]
    assert marked == ["sex", *schools[:60], '"  "', "García", "F", "M", "179"]
    assert "Categories: 62 values" in looked
    assert '<p class="fine">Each row is a pupil.</p>' in looked
    assert "All words &lt;that&gt; occur." in looked, "the draft says why"
    # One box for all of a kind, and none for a kind of one location.
    assert re.findall(r'value="(all-\w+)"', looked) == ["all-categories"]
    assert owner.send("/datasets", **facts, confirmed=["whole", "all-categories"]).status_code == 422
    assert owner.send("/datasets", **facts, confirmed=["whole", "all-numbers"]).status_code == 422
    assert owner.send("/datasets", **facts, confirmed=["whole", "0", "2", "all-times"]).status_code == 422
    declared = owner.follow("/datasets", **facts, confirmed=["whole", "all-categories", "2"])
    assert "The dataset is declared" in declared


def test_a_value_that_is_marked_inside_of_another_one_is_confirmed_too(
    sign_in: Callable[..., Visitor],
) -> None:
    """The service refuses such a document; the page took the marks off without asking."""
    days = {"name": "days", "kind": "numeric", "type": "integer", "lower": 0, "upper": 200}
    # A draft says under a key of its own what an ignored column would be otherwise; no domain keeps it.
    otherwise = {**days, "upper": 213, "_from_data": ["upper"]}
    columns = [
        {**days, "null": {"use": 171, "_from_data": ["use"]}},
        {**days, "name": "more", "_else": otherwise},
    ]
    document = {
        "schema": "understudy.domain/1",
        "privacy_unit": None,
        "columns": columns,
        "rules": [{"kind": "at_most", "columns": ["days", "more"]}],
    }
    owner = sign_in("owner")
    facts = {"name": "inner", "declared_size": "300", "domain": json.dumps(document)}
    looked = owner.send("/datasets/review", **facts).text
    assert re.findall(r'name="confirmed" value="([\w-]+)"', looked) == ["0"]
    marked = "".join(re.findall(r"<mark>(.*?)</mark>", looked, re.DOTALL))
    assert "171" in marked
    assert "213" not in marked
    assert owner.send("/datasets", **facts).status_code == 422
    assert "The dataset is declared" in owner.follow("/datasets", **facts, confirmed=["0"])


@pytest.mark.parametrize("columns", [5, None, {"a": 1}, "code"])
def test_a_marked_rule_of_no_columns_is_refused(sign_in: Callable[..., Visitor], columns: object) -> None:
    document = {"columns": [], "rules": [{"columns": columns, "_from_data": True}]}
    facts = {"name": "odd", "declared_size": "300", "domain": json.dumps(document)}
    assert sign_in("owner").send("/datasets", **facts).status_code == 422
    assert sign_in("owner").send("/datasets/review", **facts).status_code == 422


def test_a_dataset_that_has_its_rows_has_all_steps_behind_it(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    ready = world.ready(name="Admissions")
    assert steps(sign_in("owner").page(f"/datasets/{ready}/upload")) == ["done"] * 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"declared_size": "12.5"}, "The field “declared size” is not a whole number."),
        ({"name": ""}, "check “name”"),
        ({"domain": '{"schema": "understudy.domain/1", "columns": []}'}, "domain-invalid"),
    ],
)
def test_an_invalid_declaration_keeps_what_was_entered(
    sign_in: Callable[..., Visitor], wrong: dict[str, str], said: str
) -> None:
    entered = {"name": "<wards> & more", "declared_size": "2 500", "domain": json.dumps(DOMAIN)} | wrong
    answer = sign_in("owner").send("/datasets/review", **entered)
    assert answer.status_code == 422
    assert said in answer.text
    assert f'name="name" type="text" value="{escape(entered["name"])}"' in answer.text
    assert f'name="declared_size" type="text" value="{entered["declared_size"]}"' in answer.text
    assert (
        f'aria-describedby="domain-help domain-refused">\n{escape(entered["domain"])}</textarea>'
        in answer.text
    )
    assert "Back button" not in answer.text


def test_the_review_leads_back_to_the_form_with_what_was_entered(sign_in: Callable[..., Visitor]) -> None:
    owner = sign_in("owner")
    entered = {"name": "wards", "declared_size": "2500", "domain": json.dumps(DOMAIN)}
    assert 'formaction="/datasets/new" formnovalidate' in owner.send("/datasets/review", **entered).text
    back = owner.send("/datasets/new", **entered)
    assert back.status_code == 200
    assert escape(entered["domain"]) in back.text
    assert 'value="2500"' in back.text
    assert sign_in("analyst").send("/datasets/new", **entered).status_code == 403


def test_a_refused_form_does_not_promise_that_it_is_kept(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    dataset_id = world.declare()
    refused = sign_in("admin").send(f"/datasets/{dataset_id}/budget", epsilon="much", delta="1e-6")
    assert refused.status_code == 422
    assert "with what you entered" not in refused.text
    assert "pages are kept nowhere" in refused.text


def test_a_declaration_that_is_not_confirmed_keeps_its_ticks(sign_in: Callable[..., Visitor]) -> None:
    ward, age, *others = DOMAIN["columns"]  # type: ignore[misc]
    marked = [{**ward, "_from_data": ["categories"]}, {**age, "_from_data": ["upper"]}, *others]
    facts = {"name": "wards", "declared_size": "1000", "domain": json.dumps({**DOMAIN, "columns": marked})}
    again = sign_in("owner").send("/datasets", **facts, confirmed="1")
    assert again.status_code == 422
    assert "Some values taken from the data were not confirmed." in again.text
    boxes = re.findall(r'name="confirmed" value="(\w+)"[^>]*?( checked)?>', again.text)
    assert dict(boxes) == {"0": "", "1": " checked"}


def test_the_review_says_values_in_words(sign_in: Callable[..., Visitor]) -> None:
    columns: list[dict[str, object]] = [
        {"name": "who", "kind": "unit", "records": "learn", "_from_data": ["kind", "records"],
         "_note": "Learnt; without `records` all count as one. Write `xyz`."},
        {"name": "fee", "kind": "numeric", "type": "real", "lower": 0, "upper": 9, "null": {"use": 3}, "outside": "refuse",
         "number_format": {"thousands": ".", "affixes": ["€"]}, "specials": [], "_from_data": True},
        {"name": "ward", "kind": "categorical", "categories": ["A", "B"], "other": False, "_from_data": ["categories", "other"]},
        {"name": "more", "kind": "categorical", "categories": ["C", "D"], "other": "rest", "_from_data": ["categories", "other"]},
        {"name": "came", "kind": "date", "lower": "2020-01-01", "upper": "2024-12-31"},
        {"name": "left", "kind": "date", "lower": "2020-01-01", "upper": "2025-12-31",
         "difference": {"from": "came", "lower": 0, "upper": 400}, "_from_data": ["difference"]},
    ]  # fmt: skip
    document = {
        "schema": "understudy.domain/1", "privacy_unit": "who", "target": None, "_from_data": ["target"], "columns": columns,
        "csv": {"delimiter": ";", "decimal_mark": ",", "header": True, "strip_spaces": False, "null_values": ["", "k.A."],
                "_from_data": ["delimiter", "decimal_mark", "header", "strip_spaces", "null_values"]},
        "rules": [{"kind": "determines", "columns": ["ward", "more"], "pairs": [["A", "C"], ["B", "D"]], "_from_data": ["pairs"]}],
    }  # fmt: skip
    page = sign_in("owner").send(
        "/datasets/review", name="fees", declared_size="300", domain=json.dumps(document)
    )
    assert page.status_code == 200, page.text
    text = " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text.partition('id="declaring"')[2])).split())
    for said in (
        "Target: none", "Delimiter: semicolon", "Decimal mark: comma", "First line holds the names: yes",
        "Blanks around values are dropped: no", "an empty field k.A.", "Other categories: none", "Other categories: counted together as “rest”",
        "Records of a unit that count: learnt in each training at a privacy cost", "Missing values: replaced by 3",
        "Values beyond the bounds: row refused", "Format of numbers: thousands grouped by point; with € before or after the number",
        "Special values: none", "Distance from another column: 0 to 400 from came", "A → C B → D", "Kind: identifies the privacy unit",
        "without “Records of a unit that count” all count as one. Write xyz.",
    ):  # fmt: skip
        assert said in text, said
    assert not re.search(
        r"null\b|\bfalse\b|\btrue\b|decimal_mark|strip_spaces|null_values|`",
        re.sub(r"[“”]", "", text.split("Declare dataset")[0].partition("Values taken from your data")[2]),
    )
