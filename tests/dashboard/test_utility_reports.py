"""Utility reports in the browser: the price and the precision before the click, an order, and the result for all who may look."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from core.artifacts.counts import CountTable, ReleasedCounts
from core.artifacts.reports.utility_text import READING
from core.plan.domain.table import TableDomain
from tests.core.artifacts.stand_in import DOMAIN, even_bundle
from tests.dashboard.visitor import Visitor
from tests.service.utility_reports import charged_report, name_generator, released_images
from tests.service.world import World


@pytest.fixture
def release_id(world: World) -> str:
    release_id = world.release()
    name_generator(world, release_id)
    return release_id


def test_an_analyst_sees_the_price_and_orders_exactly_that_once(
    world: World, sign_in: Callable[..., Visitor], release_id: str
) -> None:
    analyst = sign_in("analyst")
    path = f"/releases/{release_id}"
    page = analyst.page(path)
    assert "A utility report measures" in page
    assert "<option selected>sick</option>" in page
    before = len(world.queue.sent)
    answer = analyst.send(f"{path}/charged-report/quote", epsilon="0.25", target="age")
    assert answer.status_code == 200, answer.text
    for words in ("It fits.", "Error of each pair", "percentage points", "Order report: reserve ε 0.25"):
        assert words in answer.text
    assert len(world.queue.sent) == before
    terms = {"epsilon": "0.25", "target": "age", "once": "6f1c2a52-3a0b-4a53-9d2b-9f6f1d3f6a10"}
    page = analyst.follow(f"{path}/charged-report", **terms)
    assert "Planned guarantee" in page
    analyst.follow(f"{path}/charged-report", **terms)
    assert len(world.queue.sent) == before + 1, "the same click twice is one order"


def test_who_has_no_grant_is_led_to_the_request(
    world: World, sign_in: Callable[..., Visitor], release_id: str
) -> None:
    dataset_id = world.analyst.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    for grant in world.analyst.get("/v1/grants").json()["items"]:
        assert world.admin.delete(f"/v1/grants/{grant['id']}").status_code == 200
    analyst = sign_in("analyst")
    for path in (f"/releases/{release_id}/charged-report/quote", f"/datasets/{dataset_id}/quote"):
        shown = analyst.send(path, headers={"HX-Request": "true"}, epsilon="0.25").text
        assert "You have no open grant" in shown
        assert f'<a href="/datasets/{dataset_id}/people#ask">Request budget</a>' in shown, path


def test_everybody_who_sees_the_release_reads_the_report(
    world: World, sign_in: Callable[..., Visitor], release_id: str
) -> None:
    report_id = charged_report(world, release_id)
    job_id = world.analyst.get(f"/v1/charged-reports/{report_id}").json()["job_id"]
    for role in ("analyst", "owner", "admin", "auditor"):
        visitor = sign_in(role)
        page = visitor.page(f"/releases/{release_id}")
        assert f"/charged-reports/{report_id}" in page
        assert ("Show price and precision" in page) == (role == "analyst")
        page = visitor.page(f"/charged-reports/{report_id}")
        for words in (
            "Differentially private.",
            "predicting “sick”",
            "Mean of all columns",
            "ward × age",
            "75.0 %",
        ):
            assert words in page, words
        assert f"/v1/charged-reports/{report_id}" in page
        jobs = visitor.page("/jobs")
        assert jobs.count('<span class="fine">utility report</span>') == 1
        assert jobs.count('<span class="fine">generator</span>') == 1
        assert f'href="/charged-reports/{report_id}"' in jobs
        assert "<dt>Kind</dt><dd>utility report</dd>" in visitor.page(f"/jobs/{job_id}")
        assert f"/charged-reports/{report_id}" in visitor.page(f"/jobs/{job_id}")


def test_the_page_explains_what_concerns_the_kind_of_the_dataset(
    world: World, sign_in: Callable[..., Visitor], release_id: str
) -> None:
    page = sign_in("analyst").page(f"/charged-reports/{charged_report(world, release_id)}")
    for words in ("a pair of columns", '<h2 id="columns">Columns</h2>', "trained on synthetic records only"):
        assert words in page
    for words in ("images", "brightness", "pixel"):
        assert words not in page
    of_images, _ = released_images(world)
    report_id = charged_report(world, of_images)
    page = sign_in("analyst").page(f"/charged-reports/{report_id}")
    for words in ("Of images the label", "brightness", "trained on synthetic images only"):
        assert words in page
    for words in ("Columns</h2>", "Pairs of columns", "Mean of all columns", "on synthetic records only"):
        assert words not in page
    document = world.analyst.get(f"/v1/charged-reports/{report_id}").json()
    assert document["reading"] == list(READING), "the signed report says the same of both"


def test_the_page_says_how_much_of_a_column_the_release_does_not_list(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    wards = {"name": "ward", "kind": "categorical", "categories": ["A", "B"], "other": "any other"}
    domain = TableDomain.from_json(DOMAIN | {"columns": [wards, *DOMAIN["columns"][1:]]})
    cells = domain.cardinalities
    found = [np.full(codes, 1000 // codes, dtype=np.int32) for codes in cells]
    found[0] = np.array([80, 70, 850], dtype=np.int32)
    tables = tuple(
        CountTable(columns=(place,), noise_std=2.0, cells=table) for place, table in enumerate(found)
    )
    groups = tuple(np.arange(codes) for codes in cells)
    counts = ReleasedCounts(cardinalities=cells, step=1.0, tables=tables, groups=groups)
    made = replace(even_bundle(domain.to_json()), counts=counts.to_bytes())
    release_id = world.release(made)
    name_generator(world, release_id)
    page = sign_in("analyst").page(f"/charged-reports/{charged_report(world, release_id)}")
    told = re.findall(r"not listed: ([0-9.]+) % of the records \(([0-9.]+) % to ([0-9.]+) %\)", page)
    assert len(told) == 1, "of the one column that has a word for such values"
    estimate, low, high = map(float, told[0])
    assert low < estimate < high
    assert abs(estimate - 85.0) < 0.5
    assert "every value has the same share" not in page
    assert "Differences within a bin, and among values that are not listed, are not in it." in page


def test_the_page_explains_what_is_on_it(
    world: World, sign_in: Callable[..., Visitor], release_id: str
) -> None:
    page = sign_in("analyst").page(f"/charged-reports/{charged_report(world, release_id)}")
    assert "not listed: " not in page, "the release has no counts"
    explained = page[page.index('id="reading"') :]
    for member in ("noisy is", "noise_std", "by_chance", "on_synthetic", "most_frequent"):
        assert member not in explained
    assert "“By chance” is the error that a perfect release would show" in explained


def test_refusals_are_pages_and_others_find_nothing(
    world: World, sign_in: Callable[..., Visitor], release_id: str
) -> None:
    analyst = sign_in("analyst")
    path = f"/releases/{release_id}/charged-report"
    assert analyst.send(f"{path}/quote", epsilon="0.25", target="nobody").status_code == 422
    assert analyst.send(f"{path}/quote", target="age").status_code == 422
    assert "It does not fit." in analyst.send(f"{path}/quote", epsilon="50").text
    assert analyst.send(path, epsilon="50").status_code == 409
    assert sign_in("owner").send(path, epsilon="0.1").status_code == 403
    assert analyst.get("/charged-reports/6f1c2a52-3a0b-4a53-9d2b-9f6f1d3f6a10").status_code == 404


def test_of_images_nothing_is_chosen_and_their_label_is_predicted(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    release_id, _ = released_images(world)
    analyst = sign_in("analyst")
    page = analyst.page(f"/releases/{release_id}")
    assert "errors of label, brightness, detail and of pairs of them" in page
    assert "trained on synthetic images only" in page
    assert "Column to predict" not in page
    answer = analyst.send(f"/releases/{release_id}/charged-report/quote", epsilon="0.25")
    for words in ("It fits.", "Error of each pair", "Score", "Order report: reserve ε 0.25"):
        assert words in answer.text
