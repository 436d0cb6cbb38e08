"""The overview as a board: each role sees what waits for it, and acts from there; the help is one click away."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from core.platform.access.roles import Role
from core.platform.access.scopes import Scope
from service.dashboard.dataset_pages import TYPICAL
from service.overview.schemas import CourseView, DatasetBudget
from service.wording import amounts, domain_text, labels
from service.wording.budget_pictures import SPARKLINE_HEIGHT, SPARKLINE_WIDTH, sparkline_of
from tests.core.artifacts.stand_in import DOMAIN
from tests.core.data.pictures import images
from tests.dashboard.newer_scene import enrich
from tests.dashboard.scene import Scene, _train, lived_in
from tests.dashboard.visitor import Visitor, enter
from tests.service.world import Caller, World

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts.md"
HELP = Path(__file__).parents[2] / "service" / "dashboard" / "templates" / "help.html"


@pytest.fixture
def scene(world: World) -> Scene:
    return lived_in(world)


def _words(page: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def test_datasets_of_one_name_are_distinguished_and_versions_share_one_budget(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    parent = world.ready(name="customers")
    world.clock.advance(seconds=60)
    child = world.declare(name="customers", parent_dataset_id=parent)
    world.declare(name="prescriptions")
    admin = sign_in("admin")
    names = [f"customers ({dataset_id[:8]})" for dataset_id in (parent, child)]
    overview = _words(admin.page("/overview"))
    for name in names:
        assert f"One budget with {name}" in overview
    assert overview.count("One budget with") == 2
    assert "prescriptions (" not in overview
    grants = _words(admin.page("/grants"))
    assert " , ".join(names) in grants, "on the row of the grant"
    assert " ".join(sorted(names)) in " ".join(re.findall(r"customers \(\w+\)", grants)), "in the filter"


def test_each_role_sees_its_part(world: World, scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    refused = world.analyst.post(f"/v1/datasets/{scene.dataset_id}/freeze", {"reason": "no"})
    assert refused.status_code == 403
    colleague = world.caller(Role.ANALYST)
    world.admit(scene.dataset_id, colleague)
    grant_id = world.give(
        scene.dataset_id, colleague, epsilon=0.4, expires_at=world.clock.now() + timedelta(days=3)
    )
    admin = sign_in("admin").page("/overview")
    for path in (
        f"/requests/{scene.request_id}", f"/jobs/{scene.running_id}", f"/jobs/{scene.queued_id}",
        f"/grants/{grant_id}", "/audit?outcome=role-missing", f"/datasets/{scene.declared_id}#cap-epsilon",
        'hx-get="/overview/findings',
    ):  # fmt: skip
        assert path in admin, path
    assert "Decide" in admin
    assert "Jobs failed within 14 days" in admin
    assert "Research group, north" in admin
    owner = sign_in("owner").page("/overview")
    assert "Grants that expire within 14 days" in owner
    for hidden in ("Attempts refused", "/overview/findings", "Set the cap"):
        assert hidden not in owner, hidden
    analyst = sign_in("analyst").page("/overview")
    assert "What you may still order" in analyst
    assert f"/datasets/{scene.dataset_id}/order" in analyst
    for hidden in ("Decide", "Grants that expire", "Attempts refused"):
        assert hidden not in analyst, hidden
    auditor = sign_in("auditor").page("/overview")
    assert "Open requests" in auditor
    assert "Decide" not in auditor
    older = sign_in("admin").page(f"/overview?before={scene.dataset_id}")
    assert "No datasets yet" not in older
    assert "Awaiting your decision" not in older


def test_grants_with_nothing_left_are_folded_behind_the_others(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    dataset_id = world.ready()
    analyst = sign_in("analyst")
    before = analyst.page("/overview")
    assert "with nothing left" not in before
    world.set_budget(dataset_id, epsilon=1.0)
    assert world.order(dataset_id).status_code == 202
    page = analyst.page("/overview")
    words = _words(page).partition("What you may still order")[2].partition("Budgets")[0]
    assert "Nothing is left of your grants." in words
    assert "1 grant with nothing left" in words
    assert "–" not in words
    assert page.index("<details>") < page.index("Your grants with nothing left")
    world.give(dataset_id, epsilon=0.5)
    words = _words(analyst.page("/overview"))
    assert "Nothing is left of your grants." not in words
    assert words.index("ε 0.5") < words.index("1 grant with nothing left") < words.index("ε 1 ")


def test_a_key_for_datasets_alone_sees_no_amount(world: World, scene: Scene) -> None:
    page = enter(world, world.caller(Role.ADMIN, scopes={Scope.DATASETS_READ})).page("/overview")
    assert "Admissions 2020" in page
    for hidden in ("left of", "open requests", "jobs", "Jobs failed", "refused"):
        assert hidden not in _words(page).partition("Budgets")[2], hidden


def test_findings_come_as_a_fragment(scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    found = sign_in("admin").get("/overview/findings", **{"HX-Request": "true"})
    assert found.status_code == 200
    assert re.search(r'<a href="/system"><strong class="number[^>]*>\d+</strong>', found.text)
    assert sign_in("owner").get("/overview/findings").status_code == 403


def test_the_filter_of_requests_says_what_is_listed(
    world: World, scene: Scene, sign_in: Callable[..., Visitor]
) -> None:
    enrich(world, scene)
    admin = sign_in("admin")
    for path, chosen in {
        "/requests": None, "/requests?state=": None, "/requests?state=odd": None,
        "/requests?state=open": "open", "/requests?state=denied": "denied",
    }.items():  # fmt: skip
        page = admin.page(path)
        selected = re.findall(r'<option value="([a-z]*)" selected>', page)
        assert selected == ([] if chosen is None else [chosen]), path
        assert page.index('<option value="">all</option>') < page.index('<option value="open"')
        states = set(re.findall(r'class="state [a-z]+">([a-z]+)<', page))
        assert chosen is None or states <= {chosen}, path


def test_an_open_request_is_decided_from_the_lists_by_those_who_may(
    world: World, scene: Scene, sign_in: Callable[..., Visitor]
) -> None:
    enrich(world, scene)
    button = f'<a class="button small" href="/requests/{scene.request_id}">Decide'
    for path in ("/requests", f"/datasets/{scene.dataset_id}/people"):
        assert button in sign_in("admin").page(path), path
        assert button in sign_in("owner").page(path), path
        theirs = sign_in("analyst").page(path)
        assert "Decide" not in theirs, path
        assert f'<a href="/requests/{scene.request_id}">Open' in theirs, path


def test_budgets_with_the_least_left_come_first_and_datasets_without_a_cap_last(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    for name, epsilon in {"little left": 1.8, "all left": None, "half left": 1.0}.items():
        dataset_id = world.ready(name=name)
        if epsilon is not None:
            assert world.order(dataset_id, epsilon=epsilon).status_code == 202
        world.clock.advance(seconds=60)
    world.declare(name="no cap")
    text = _words(sign_in("admin").page("/overview"))
    board = text[text.index("Budgets") :]
    names = ["little left", "half left", "all left", "no cap"]
    assert sorted(names, key=board.index) == names


def test_an_object_that_cannot_be_seen_is_explained_by_its_page(sign_in: Callable[..., Visitor]) -> None:
    page = _words(sign_in("owner").page(f"/jobs/{uuid4()}", 404))
    assert "It does not exist, or you may not see it." in page
    assert "job-not-found" in page


def test_one_thing_is_counted_in_the_singular(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    admin = sign_in("admin")
    for failed in range(2):
        job_id = world.order(dataset_id, epsilon=0.1, delta=1e-7).json()["id"]
        _train(world, job_id, state="failed")
        world.clock.advance(seconds=60)
        expected = "1 job failed recently" if not failed else "2 jobs failed recently"
        assert expected in _words(admin.page("/overview"))
    assert world.order(dataset_id, epsilon=0.1, delta=1e-7).status_code == 202
    assert world.order(dataset_id, epsilon=9.0).status_code == 409
    wanted = {"epsilon": 0.1, "delta": 1e-7, "purpose": "a study"}
    assert world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", wanted).status_code == 201
    world.give(dataset_id, epsilon=0.1, expires_at=world.clock.now() + timedelta(days=2))
    board = _words(admin.page("/overview"))
    for expected in (
        "1 open request ",
        "1 grant expires soon",
        "1 job queued or running",
        "1 attempt refused recently",
    ):
        assert expected in board, expected
    other = world.ready(name="one change")
    assert world.order(other, epsilon=0.1, delta=1e-7).status_code == 202
    assert "The latest change as a table" in admin.page(f"/datasets/{other}")
    assert "The latest 5 changes as a table" in admin.page(f"/datasets/{dataset_id}")
    assert world.admin.post(f"/v1/datasets/{other}/freeze", {"reason": "a check"}).status_code == 200
    found = _words(admin.get("/overview/findings", **{"HX-Request": "true"}).text)
    assert "1 budgets are" not in found
    assert "Frozen budgets: 1." in found


def test_a_sum_that_is_not_the_cap_is_explained_where_it_stands(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    """0.5 of 2 is reserved, and more than 1.5 is left: composition is tighter than sums."""
    dataset_id = world.ready()
    analyst = sign_in("analyst")
    explained = "Composition is tighter than sums"
    assert explained not in analyst.page("/overview"), "nothing is spent"
    assert world.order(dataset_id, epsilon=0.5, delta=5e-7).status_code == 202
    assert explained in analyst.page("/overview")


def test_a_dataset_without_rows_is_priced_and_not_ordered_from(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    """Reproduced: the page offered an order, priced it, and refused it at the last click."""
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    analyst = sign_in("analyst")
    assert "no rows yet" in analyst.page("/overview")
    assert "Order a generator" not in analyst.page(f"/datasets/{dataset_id}")
    assert f'href="/datasets/{dataset_id}/order">Price an order' in analyst.page(f"/datasets/{dataset_id}")
    assert "This dataset has no rows yet" in analyst.page(f"/datasets/{dataset_id}/order")
    wanted = {"epsilon": "0.5", "delta": "5e-7"}
    priced = analyst.send(f"/datasets/{dataset_id}/quote", **wanted).text
    assert "It fits." in priced
    assert "Order generator" not in priced
    assert "when its rows are there" in priced
    assert world.upload(dataset_id).status_code == 201
    assert "This dataset has no rows yet" not in analyst.page(f"/datasets/{dataset_id}/order")
    assert "Order generator" in analyst.send(f"/datasets/{dataset_id}/quote", **wanted).text


def test_the_amount_to_grant_is_written_as_it_was_asked_for(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    dataset_id = world.declare()
    wanted = {"epsilon": 5, "delta": 1e-7, "purpose": "a study"}
    asked = world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", wanted).json()["id"]
    page = sign_in("owner").page(f"/requests/{asked}")
    assert re.findall(r'name="epsilon"[^>]* value="([^"]*)"', page) == ["5"]


def test_a_private_model_is_exported_as_a_model(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    analyst = sign_in("analyst")
    pages = []
    for wanted in ({}, {"options": {}, "model": {"steps": 40}}):
        job_id = world.order(dataset_id, epsilon=0.1, delta=1e-7, **wanted).json()["id"]
        pages.append(re.findall(r"Exporting the \w+", analyst.page(f"/jobs/{job_id}")))
    assert pages == [["Exporting the generator"], ["Exporting the model"]]


def test_people_are_named(scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    admin = sign_in("admin")
    for path in ("/overview", "/jobs", f"/datasets/{scene.dataset_id}/ledger", "/grants", "/requests"):
        assert '<span class="person">Research group, north</span>' in admin.page(path), path


def test_help_is_one_click_away_and_its_terms_are_those_of_the_docs(sign_in: Callable[..., Visitor]) -> None:
    analyst = sign_in("analyst")
    assert 'href="/help"' in analyst.page("/overview")
    page = analyst.page("/help")
    assert "As an analyst" in page
    assert "As an admin" not in page
    defined = set(re.findall(r"^\*\*([^*,]+)(?:, [^*]+)?\*\*$", CONCEPTS.read_text(), re.MULTILINE))
    terms = re.findall(r"<dt id=[^>]*>([^<]+)</dt>", HELP.read_text())
    assert terms
    assert set(terms) <= defined, set(terms) - defined
    every = sign_in("owner", "analyst", "admin", "auditor").page("/help")
    for path in set(re.findall(r'href="(/[a-z-]+(?:/new)?(?:\?[^"]*)?)"', every)):
        assert sign_in("owner", "analyst", "admin", "auditor").get(path).status_code == 200, path


def _listed(*course: tuple[int, float, float]) -> tuple[DatasetBudget, datetime]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    points = [
        CourseView(at=start + timedelta(days=day), spent=str(spent), reserved=str(reserved))
        for day, spent, reserved in course
    ]
    made = DatasetBudget(
        id=uuid4(), population_id=UUID(int=1), name="a", privacy_unit=None, declared_size=9, state="ready",
        created_at=start, budget=None, course=points,
    )  # fmt: skip
    return made, start + timedelta(days=4)


def test_a_sparkline_steps_at_each_entry() -> None:
    drawn = sparkline_of(*_listed((0, 0, 0), (1, 0, 0.5), (2, 0.5, 0), (3, 0.5, 0.5)))
    assert drawn is not None
    quarter = SPARKLINE_WIDTH / 4
    assert drawn.in_force == (
        f"M0 {SPARKLINE_HEIGHT}H0.0V{SPARKLINE_HEIGHT:.1f}H{quarter:.1f}V{SPARKLINE_HEIGHT / 2:.1f}H{2 * quarter:.1f}V{SPARKLINE_HEIGHT / 2:.1f}"
        f"H{3 * quarter:.1f}V0.0H{SPARKLINE_WIDTH}V{SPARKLINE_HEIGHT}Z"
    )
    assert drawn.label == "ε 1 since 2026-01-01"
    assert sparkline_of(*_listed((0, 0, 0))) is None
    assert sparkline_of(*_listed()) is None


def test_a_file_is_compared_with_the_declared_columns() -> None:
    declared = domain_text.declared_columns(DOMAIN)
    ward, age, sick, seen = declared["columns"]
    assert (ward["words"], age["words"], sick["words"]) == (["A", 'B, or "C"', "Ü"], None, ["yes", "no"])
    assert (age["lower"], age["upper"], seen["lower"]) == (0, 99, None)
    assert declared["dialect"] == {
        "delimiter": ",", "quote": '"', "header": True, "nulls": [""], "strip": False, "decimal": ".", "encoding": "utf-8",
    }  # fmt: skip
    learnt = {"name": "a", "kind": "categorical", "categories": "learn", "most": 9, "null": "category"}
    bounded = {"name": "b", "kind": "numeric", "type": "real", "bounds": "learn", "lower": 0, "upper": 1}
    other = domain_text.declared_columns({"columns": [learnt, bounded], "csv": {"delimiter": ";"}})
    assert [(one["words"], one["lower"]) for one in other["columns"]] == [(None, None)] * 2
    assert other["dialect"]["delimiter"] == ";"
    left_out = {"name": "c", "kind": "ignored"}
    grouped = {"name": "d", "kind": "categorical", "categories": ["A"], "other": True}
    refusing = {**grouped, "other": "rest", "unknown": "refuse"}
    read = domain_text.declared_columns(
        {"columns": [left_out, {"name": "u", "kind": "unit"}, grouped, refusing]}
    )
    assert [one["null"] for one in read["columns"]] == [None, "refuse", "refuse", "refuse"], (
        "nobody reads what is left out"
    )
    assert [one["words"] for one in read["columns"]] == [None, None, None, ["A"]], (
        "words that are not listed are other"
    )
    assert domain_text.previewed(DOMAIN) == declared
    assert domain_text.previewed(images(unit="who").to_json()) == {
        "images": {"height": 5, "width": 6, "channels": 1, "labels": list("0123456789"), "unit": "who"}
    }


def test_what_may_still_be_ordered_is_what_the_outlook_of_each_order_says(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    dataset_id = world.ready()
    analyst, stranger = sign_in("analyst"), world.caller(Role.ANALYST)
    world.admit(dataset_id, stranger)
    assert world.order(dataset_id, epsilon=0.5).status_code == 202

    def rows(visitor: Visitor) -> list[list[str]]:
        table = visitor.page(f"/datasets/{dataset_id}").partition(
            '<table class="stack" role="table" aria-labelledby="typical">'
        )
        body = table[2].partition("</table>")[0].partition("<tbody")[2]
        cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in body.split("<tr")[1:]]
        return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]

    def expected(caller: Caller) -> list[list[str]]:
        looks = [
            caller.post(f"/v1/datasets/{dataset_id}/budget/what-if", {"epsilon": size}).json()
            for size in TYPICAL
        ]
        return [
            [
                f"ε {amounts.epsilon(look['epsilon'])}",
                "fits" if look["fits"] else f"does not fit {labels.refusal(look['refusal'])}",
                amounts.epsilon(look["grant"]["remaining_epsilon_after"]) if look["fits"] else "",
                amounts.epsilon(look["cap"]["remaining_epsilon_after"]) if look["fits"] else "",
            ]
            for look in looks
        ]

    def agree() -> set[str]:
        found = rows(analyst)
        assert found == expected(world.analyst)
        assert rows(enter(world, stranger)) == expected(stranger)
        return {row[1] for row in found}

    assert agree() == {"fits", "does not fit It would exceed the cap."}
    world.give(dataset_id, epsilon=0.2)
    assert agree() == {
        "fits",
        "does not fit You have several grants; choose the one to charge.",
        "does not fit It would exceed the cap.",
    }
    assert world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a test"}).status_code == 200
    page = _words(analyst.page(f"/datasets/{dataset_id}"))
    assert "No order of ε 0.1 or more fits. The dataset is frozen." in page, "once, not for each size"
    assert "does not fit" not in page
    assert "What you may still order" not in sign_in("owner").page(f"/datasets/{dataset_id}")
