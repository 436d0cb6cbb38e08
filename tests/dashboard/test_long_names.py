"""Names that are long, or have no place to break: no page scrolls sideways, and no table is cut off or squeezed to a word a line."""

from typing import Any
from uuid import UUID

import pytest

from core.db.tables import Job
from core.ledger import ledger
from tests.dashboard.browsing import BROKEN_WORDS, browser_path, chromium, served
from tests.service.world import World

SENTENCE = "National registry of intensive-care admissions and discharges, north-western region, second corrected version"
UNBROKEN = "Krankenhausaufenthaltsdatenübermittlungsverordnungsregister_2011_2024_v2_korrigiert_endgültig"
PERSON = "Arbeitsgruppe_Gesundheitsversorgungsforschungsmethodenentwicklung_Nord"
WIDE = {
    "schema": "understudy.domain/1",
    "privacy_unit": None,
    "columns": [
        {
            "name": f"measurement_of_the_{n:02}th_laboratory_value_mmol_per_litre",
            "kind": "numeric",
            "type": "integer",
            "lower": 0,
            "upper": 9,
        }
        for n in range(3)
    ],
}
ADDRESS = f"https://intranet.example/{'agreement' * 20}"
TABLET = {"width": 768, "height": 1024}
SIZES = {"desktop": {"width": 1200, "height": 800}, "phone": {"width": 360, "height": 740}}
OVERFLOWING = """() => {
  const wide = [...document.querySelectorAll(".scroll, .card, .rows, main")].filter((one) => innerWidth > 640 && one.scrollWidth > one.clientWidth + 1);
  return [document.documentElement.scrollWidth > innerWidth, wide.map((one) => one.getAttribute("aria-labelledby") || one.className || one.tagName)];
}"""
GAPS = """() => [...document.querySelectorAll("td .person + code")].map((code) => {
  const last = [...code.previousElementSibling.getClientRects()].at(-1), id = code.getBoundingClientRect();
  return id.top > last.bottom - 4 ? 0 : id.left - last.right + Math.max(0, last.bottom - id.bottom);
})"""
"""How far the id of a person is from the end of the name before it; 0 where it begins the next line."""
SQUEEZED = """() => [...document.querySelectorAll("td, th")].filter((one) => {
  const style = getComputedStyle(one);
  return style.display === "table-cell" && one.innerText.trim().length > 20 && !one.querySelector(".sr") && one.getBoundingClientRect().width < 80;
}).map((one) => one.textContent.trim())"""
"""Cells of many words in which hardly one fits a line."""


REGISTER = "Krankenhausaufnahmen_Niedersachsen_2026"
GROUP = "Arbeitsgruppe_Gesundheitsversorgung.Niedersachsen"
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def places(world: World) -> dict[str, list[tuple[str, str]]]:
    browser_path()
    assert (
        world.admin.put(f"/v1/principals/{world.analyst.principal_id}", {"name": PERSON}).status_code == 200
    )
    dataset = world.ready(name=SENTENCE)
    world.set_budget(dataset, epsilon=9, delta=1e-5)
    for n in range(2):
        world.declare(name=f"{UNBROKEN}_{n}")
    wide = world.declare(name=UNBROKEN, domain=WIDE)
    job = world.order(dataset, epsilon=0.25, delta=5e-7).json()["id"]
    with world.database.transaction() as session:
        ledger.spend(session, UUID(job), fence=1, clock=world.clock)
        found = session.get_one(Job, UUID(job))
        found.state, found.failure_code, found.finished_at = "failed", "training-failed", world.clock.now()
        found.sealed_randomness_key = None
    asked = world.analyst.post(
        f"/v1/datasets/{dataset}/budget-requests",
        {"epsilon": 0.5, "delta": 2e-6, "purpose": f"{SENTENCE} {UNBROKEN}"},
    ).json()["id"]
    return {
        "admin": [(name, f"/{name}") for name in ("overview", "requests", "grants", "jobs", "people", "keys", "audit")],
        "owner": [
            ("own datasets", "/overview"),
            ("request", f"/requests/{asked}"),
            *((part, f"/datasets/{dataset}/{part}") for part in ("people", "ledger", "facts", "trail", "delete")),
            ("dataset", f"/datasets/{dataset}"),
            ("wide facts", f"/datasets/{wide}/facts"),
            ("upload", f"/datasets/{wide}/upload"),
        ],
        "analyst": [("orderable", "/overview"), ("job", f"/jobs/{job}"), ("order", f"/datasets/{dataset}/order")],
    }  # fmt: skip


@pytest.mark.long
def test_long_names_fit(world: World, places: dict[str, list[tuple[str, str]]]) -> None:
    keys = {"owner": world.owner.key, "analyst": world.analyst.key, "admin": world.admin.key}
    found: dict[str, Any] = {}
    with served(world.app) as address, chromium() as browser:
        for role, pages in places.items():
            tab = browser.new_context(viewport=SIZES["desktop"], reduced_motion="reduce").new_page()
            tab.goto(f"{address}/sign-in")
            tab.get_by_label("API key").fill(keys[role])
            tab.get_by_role("button", name="Sign in").click()
            tab.wait_for_url("**/overview")
            for name, path in pages:
                tab.goto(address + path)
                for size, viewport in SIZES.items():
                    tab.set_viewport_size(viewport)
                    problems = tab.evaluate(OVERFLOWING), tab.evaluate(SQUEEZED)
                    if problems != ([False, []], []):
                        found[f"{name}, {size}"] = problems
            tab.context.close()
    assert found == {}


def test_an_id_follows_the_last_word_of_a_name(world: World) -> None:
    """Reproduced: a name of two lines in a table was a block, and its id stood beside the first line, far to the right."""
    browser_path()
    name = "Łukasz Żółć, Universität Göttingen"
    assert world.admin.put(f"/v1/principals/{world.analyst.principal_id}", {"name": name}).status_code == 200
    dataset = world.ready()
    with served(world.app) as address, chromium() as browser:
        tab = browser.new_context(viewport=SIZES["desktop"], reduced_motion="reduce").new_page()
        tab.goto(f"{address}/sign-in")
        tab.get_by_label("API key").fill(world.owner.key)
        tab.get_by_role("button", name="Sign in").click()
        tab.wait_for_url("**/overview")
        for part in ("people", "ledger"):
            tab.goto(f"{address}/datasets/{dataset}/{part}")
            gaps = tab.evaluate(GAPS)
            assert gaps, part
            assert max(gaps) < 20, part


def test_names_are_broken_between_their_words_on_a_phone(world: World) -> None:
    """A name of words joined by `_` is broken there, and a request that does not fit says so in more than one line.

    On a tablet a name has room, and a purpose that is one long address does not widen the page.
    """
    browser_path()
    for who, name in ((world.analyst, GROUP), (world.owner, REGISTER)):
        named = world.admin.put(f"/v1/principals/{who.principal_id}", {"name": name})
        assert named.status_code == 200, named.text
    domain = {**WIDE, "columns": [{**WIDE["columns"][0], "name": REGISTER}]}
    dataset = world.declare(name=REGISTER, domain=domain)
    world.set_budget(dataset, epsilon=1, delta=1e-5)
    asked = world.analyst.post(
        f"/v1/datasets/{dataset}/budget-requests", {"epsilon": 5, "delta": 2e-6, "purpose": REGISTER}
    ).json()["id"]
    parts = ("", "/people", "/ledger", "/facts", "/trail", "/delete", "/upload")
    pages = [f"/datasets/{dataset}{part}" for part in parts]
    found: dict[str, Any] = {}
    with served(world.app) as address, chromium() as browser:
        tab = browser.new_context(viewport=PHONE, reduced_motion="reduce").new_page()
        tab.goto(f"{address}/sign-in")
        tab.get_by_label("API key").fill(world.owner.key)
        tab.get_by_role("button", name="Sign in").click()
        tab.wait_for_url("**/overview")
        for path in ("/overview", "/requests", f"/requests/{asked}", "/grants", *pages):
            tab.goto(address + path)
            problems = tab.evaluate(OVERFLOWING)[0], tab.evaluate(BROKEN_WORDS)
            if problems != (False, []):
                found[path] = problems
        other = world.declare(name="Wards")
        world.set_budget(other, epsilon=1, delta=1e-5)
        wanted = {"epsilon": 0.5, "delta": 2e-6, "purpose": ADDRESS}
        filed = world.analyst.post(f"/v1/datasets/{other}/budget-requests", wanted)
        assert filed.status_code == 201, filed.text
        for size in (SIZES["desktop"], TABLET):
            tab.set_viewport_size(size)
            tab.goto(f"{address}/overview")
            overflowing, cut_off = tab.evaluate(OVERFLOWING)
            assert not overflowing, size
            assert size is TABLET or not cut_off
        assert tab.get_by_role("heading", name=REGISTER).bounding_box()["width"] > 300, "a name has room"
    assert found == {}
