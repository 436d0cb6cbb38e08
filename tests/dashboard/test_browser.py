"""Journeys in a real Chromium, one for each role, and pages held to accessibility, weight and width.

One server, one browser and one scene serve all of them, so what a journey changes must not be what another needs.
"""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from core.platform.access.roles import Role
from service.dashboard.documentation import files
from tests.dashboard import newer_journeys, previews
from tests.dashboard.browsing import BROKEN_WORDS, browser_path, chromium, grave_findings, served
from tests.dashboard.declaring import declares
from tests.dashboard.every_page import COMPUTED, PAGES
from tests.dashboard.newer_scene import Newer, enrich
from tests.dashboard.scene import Scene, lived_in
from tests.dashboard.visitor import new_link
from tests.service.world import CSV, World

MOST_BYTES = 100_000
MOST_SHIFT = 0.1
"""Of what is called cumulative layout shift; from here on pages count as restless."""
MOST_TOP = 100
"""Points of a phone that the top of a page takes: two lines."""
SHIFTS = """() => new Promise((done) => {
  let sum = 0;
  const watch = new PerformanceObserver((list) => list.getEntries().forEach((entry) => { sum += entry.value; }));
  watch.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 50);
})"""
_ON_PURPOSE = re.compile(r"status of (404|422)|ERR_FAILED")
PART_BYTES = 400
"""So small that the rows of the journey are three parts."""
PHONE, DESKTOP = {"width": 360, "height": 740}, {"width": 1200, "height": 800}


@dataclass
class Watched:
    """A tab, with everything that a person would find wrong in its console.

    Args:
        tab: The page of the browser.
        address: Of the server.
    """

    tab: Any
    address: str
    complaints: list[str] = field(default_factory=list)
    weights: dict[str, int] = field(default_factory=dict)

    def watch(self) -> None:
        self.tab.on("console", lambda said: self._note(said.type, said.text))
        self.tab.on("pageerror", lambda error: self._note("error", str(error)))
        self.tab.on("response", self._weigh)

    def go(self, path: str) -> None:
        self.weights.clear()
        self.tab.goto(self.address + path, wait_until="load")

    def _note(self, kind: str, text: str) -> None:
        # Pages that refuse are among those that are looked at, and connections are broken on purpose.
        if kind in {"error", "warning"} and not _ON_PURPOSE.search(text):
            self.complaints.append(text)

    def _weigh(self, answer: Any) -> None:
        # What scripts ask of the API is no part of a page, and gone once the page is left.
        is_page = "/v1/" not in answer.url
        if is_page and answer.request.resource_type in {"document", "stylesheet", "script", "xhr", "fetch"}:
            self.weights[answer.url] = len(gzip.compress(answer.body())) if answer.status < 300 else 0


@pytest.fixture
def here(world: World) -> Iterator[tuple[World, Scene, Newer, str, Any]]:
    browser_path()
    context = world.app.state.context
    settings = context.settings.model_copy(update={"upload_part_bytes": PART_BYTES})
    world.app.state.context = replace(context, settings=settings)
    scene = lived_in(world)
    newer = enrich(world, scene)
    with served(world.app) as address, chromium() as browser:
        yield world, scene, newer, address, browser


def _open(browser: Any, address: str, key: str, **options: Any) -> Watched:
    tab = browser.new_context(reduced_motion="reduce", **options).new_page()
    tab.set_default_timeout(20_000)
    seen = Watched(tab, address)
    seen.watch()
    seen.go("/sign-in")
    tab.get_by_label("API key").fill(key)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/overview")
    return seen


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_pages_and_journeys(here: tuple[World, Scene, Newer, str, Any], tmp_path: Path, whole: bool) -> None:
    """Every page in light and dark, and every journey; daily every third page in the light, and a journey of each role."""
    world, scene, newer, address, browser = here
    places = vars(scene) | vars(newer)
    keys = {"owner": world.owner.key, "analyst": world.analyst.key, "admin": world.admin.key}
    keys["auditor"] = world.caller(Role.AUDITOR).key
    for role, key in keys.items():
        seen = _open(browser, address, key, viewport=DESKTOP)
        for path in _pages_of(role)[:: 1 if whole else 3]:
            _hold_to_the_bars(seen, path.format_map(places), dark=whole)
        assert seen.complaints == []
        seen.tab.context.close()
    owner = _open(browser, address, keys["owner"], viewport=DESKTOP)
    admin = _open(browser, address, keys["admin"], viewport=PHONE)
    if whole:
        _person(browser.new_context(viewport=PHONE).new_page(), f"{address}/sign-in/link#{new_link(world)}")
        newer_journeys.reports(world, owner.tab, owner.go, scene)
        newer_journeys.notifications(world, owner.tab, owner.go)
        newer_journeys.the_end(owner.tab, owner.go, newer)
        previews.pictures(world, owner.tab, owner.go)
        owner.go("/overview")
    _owner(owner, scene, tmp_path)
    analyst = _open(browser, address, keys["analyst"], viewport=PHONE)
    newer_journeys.charged(analyst.tab, analyst.go, scene, newer)
    _analyst(analyst, scene)
    _admin(_open(browser, address, keys["admin"], viewport=DESKTOP))
    if whole:
        newer_journeys.names_and_grants(admin.tab, admin.go, newer, world.analyst.principal_id)
    assert admin.complaints == []
    _auditor(_open(browser, address, keys["auditor"], viewport=PHONE), scene)


def _pages_of(role: str) -> list[str]:
    """All pages that are looked at with a role's key; those for nobody with the auditor's."""
    whole = {
        name: at for name, at in {**PAGES, **COMPUTED}.items() if name not in {"findings", "preview"}
    }  # fragments
    if files():
        del whole["documentation"]  # the site itself, which is not ours
    return [path for looks, path in whole.values() if (looks or "auditor") == role]


def _hold_to_the_bars(seen: Watched, path: str, *, dark: bool) -> None:
    tab = seen.tab
    seen.go(path)
    shifted = tab.evaluate(SHIFTS)
    assert shifted < MOST_SHIFT, f"{path} moves while it loads, by {shifted:.3f}"
    # Dark differs from light in colours alone.
    schemes: dict[str, dict[str, list[str]]] = {"light": {}} | (
        {"dark": {"runOnly": ["color-contrast"]}} if dark else {}
    )
    for scheme, rules in schemes.items():
        tab.emulate_media(color_scheme=scheme)
        assert grave_findings(tab, rules) == [], (path, scheme)
    assert sum(seen.weights.values()) < MOST_BYTES, (path, seen.weights)
    hosts = {urlsplit(url).netloc for url in seen.weights}
    assert hosts == {urlsplit(seen.address).netloc}, "something came from elsewhere"
    tab.set_viewport_size(PHONE)
    widths = tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1], f"{path} scrolls sideways"
    assert tab.evaluate(BROKEN_WORDS) == [], f"{path} breaks words"
    top = tab.locator("header.top").bounding_box()["height"]
    assert top <= MOST_TOP, f"{path} begins below {top} points of menu"
    tab.set_viewport_size(DESKTOP)


def _person(tab: Any, link: str) -> None:
    """On a phone: opens the link of `understudy up`, sees a page of each role, and that the link is used up."""
    tab.goto(link)
    assert tab.evaluate("location.hash") == "", "the token is not left in the address"
    assert not tab.get_by_label("Link token").is_visible()
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("heading", name="Overview").wait_for()
    tops = {tab.get_by_text(text, exact=True).bounding_box()["y"] // 40 for text in ("understudy", "Help")}
    assert len(tops) == 1, "help stands beside the name"
    for page in ("System", "Keys", "Requests"):
        tab.get_by_text("Menu: ").click()
        tab.get_by_role("navigation", name="Main").get_by_role("link", name=page, exact=True).click()
        tab.get_by_text(f"Menu: {page}", exact=True).wait_for()
    tab.get_by_role("button", name="Sign out").click()
    tab.goto(link)
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_text("The sign-in link is not valid.").wait_for()
    tab.context.close()


def _owner(seen: Watched, scene: Scene, tmp_path: Path) -> None:
    """By keyboard past the menu; looks at a budget, moves the slider, approves a request, declares a drafted table, uploads rows."""
    tab = seen.tab
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to content"
    tab.keyboard.press("Enter")
    assert tab.evaluate("location.hash") == "#content"
    tab.get_by_role("link", name="Admissions 2020", exact=True).first.click()
    # Locators wait for the page that a click leads to; counting would look at the one before.
    tab.locator(".curve canvas").wait_for()
    slider = tab.get_by_role("slider")
    slider.focus()
    for _ in range(3):
        tab.keyboard.press("ArrowLeft")
    tab.get_by_text("It fits.").wait_for()
    tab.get_by_role("link", name="ε 0.5, requested on").click()
    tab.get_by_role("button", name="Approve").click()
    tab.get_by_text("The request is approved").wait_for()
    tab.get_by_role("link", name="Overview", exact=True).first.click()
    declares(tab, tmp_path)
    tab.get_by_role("link", name="Overview", exact=True).first.click()
    tab.get_by_role("link", name="Ward surveys", exact=True).click()
    tab.get_by_role("link", name="Upload rows").click()
    rows = tmp_path / "rows.csv"
    rows.write_bytes(CSV)
    previews.tables(tab)
    _upload(tab, rows)
    tab.get_by_text("Private: this report counts rows.").wait_for()
    tab.get_by_role("button", name="Sign out").click()
    tab.get_by_text("You have signed out.").wait_for()
    assert seen.complaints == []


def _analyst(seen: Watched, scene: Scene) -> None:
    """On a phone: asks for a price, orders, watches and cancels."""
    tab = seen.tab
    seen.go(f"/datasets/{scene.dataset_id}/order")
    grants = tab.get_by_label("Grant to charge")
    if grants.count():
        grants.select_option(index=0)
    tab.get_by_label("Epsilon", exact=True).fill("0.2")
    tab.get_by_role("button", name="Show price").click()
    tab.get_by_role("button", name="Order generator").click()
    tab.get_by_text("The job is ordered").wait_for()
    assert "queued" in tab.locator("#live").inner_text()
    tab.get_by_text("Cancel this job").click()
    tab.get_by_role("button", name="Cancel the job").click()
    tab.get_by_text("The job is cancelled").wait_for()
    assert seen.complaints == []


def _admin(seen: Watched) -> None:
    """Makes a key, sees its secret once, revokes it."""
    tab = seen.tab
    tab.get_by_role("link", name="Keys", exact=True).click()
    tab.get_by_label("Key name").fill("night shift")
    tab.get_by_role("checkbox", name="admin").check()
    tab.get_by_role("button", name="Create key").click()
    assert tab.locator(".secret").inner_text().startswith("us_")
    tab.get_by_role("link", name="Back to keys").click()
    revoke = tab.get_by_role("link", name="Revoke … key night shift")
    revoke.wait_for()
    assert tab.locator(".secret").count() == 0
    revoke.click()
    tab.get_by_role("button", name="Revoke key").click()
    tab.get_by_text("The key is revoked").wait_for()
    assert seen.complaints == []


def _auditor(seen: Watched, scene: Scene) -> None:
    """On a phone: checks the chain, takes the ledger along and opens the menu by keyboard."""
    tab = seen.tab
    seen.go(f"/datasets/{scene.dataset_id}/ledger")
    tab.get_by_role("link", name="Verify the chain").click()
    tab.get_by_text("The hash chain is intact").wait_for()
    with tab.expect_download() as taken:
        tab.get_by_role("link", name="CSV").click()
    assert taken.value.suggested_filename.startswith("ledger-")
    assert grave_findings(tab) == []
    tab.get_by_text("Menu: Overview", exact=True).focus()
    menu = tab.get_by_role("navigation", name="Main")
    assert menu.count() == 0, "closed until it is asked for"
    tab.keyboard.press("Enter")
    assert menu.get_by_role("link").all_inner_texts()[0] == "Overview"
    assert grave_findings(tab) == []
    for _ in range(2):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.get_by_text("Menu: Requests", exact=True).wait_for()
    assert seen.complaints == []


def _upload(tab: Any, rows: Path) -> None:
    """A part whose connection breaks is sent again; after the page was closed only what is missing is sent."""
    assert 2 * PART_BYTES < len(CSV) <= 3 * PART_BYTES
    sent: list[str] = []

    def pass_on(route: Any) -> None:
        part = route.request.url[-1]
        sent.append(part)
        is_broken = (part == "2" and sent.count("2") == 1) or (part == "3" and sent.count("3") == 1)
        (route.abort if is_broken else route.continue_)()

    tab.route("**/v1/uploads/*/parts/*", pass_on)
    tab.locator("input[type=file]").set_input_files(str(rows))
    # Two parts and a retry with its pause come first; a loaded machine needs more than the usual wait.
    with tab.expect_event("requestfailed", lambda failed: failed.url.endswith("/parts/3"), timeout=90_000):
        tab.get_by_role("button", name="Upload").click()
    tab.get_by_text("Connection lost").wait_for()
    tab.reload()
    tab.locator("input[type=file]").set_input_files(str(rows))
    tab.get_by_role("button", name="Upload").click()
    tab.wait_for_url("**/facts?done=uploaded")
    assert sent == ["1", "2", "2", "3", "3"], sent
