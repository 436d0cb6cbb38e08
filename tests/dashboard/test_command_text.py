"""Commands on pages: an option such as `--epsilon` is never cut at its hyphens, whatever the width of the screen."""

from pathlib import Path

from service.dashboard.rendering import with_whole_options
from tests.dashboard.browsing import BROKEN_OPTIONS, browser_path, chromium, served
from tests.service.world import World

WIDTHS = (320, 345, 360, 375, 390, 414)
TEMPLATES = Path(__file__).parents[2] / "service" / "dashboard" / "templates"


def test_options_are_marked_and_the_rest_is_escaped() -> None:
    assert with_whole_options("with `--queues reports` <b>") == (
        'with `<span class="option">--queues</span> reports` &lt;b&gt;'
    )
    assert with_whole_options("a -- b, 2020--2021, well-known") == "a -- b, 2020--2021, well-known"


def test_every_remedy_is_shown_with_whole_options() -> None:
    bare = {
        path.name: line.strip()
        for path in TEMPLATES.glob("*.html")
        for line in path.read_text().splitlines()
        if "remedy }}" in line
    }
    assert bare == {}


def test_no_page_cuts_an_option(world: World) -> None:
    browser_path()
    whole, broken = 0, {}
    with served(world.app) as address, chromium() as browser:
        tab = browser.new_context(reduced_motion="reduce").new_page()
        tab.goto(f"{address}/sign-in")
        tab.get_by_label("API key").fill(world.admin.key)
        tab.get_by_role("button", name="Sign in").click()
        tab.wait_for_url("**/overview")
        for path in ("/federations", "/help", "/system"):
            tab.goto(address + path)
            for width in WIDTHS:
                tab.set_viewport_size({"width": width, "height": 740})
                found = tab.evaluate(BROKEN_OPTIONS)
                whole += found["whole"]
                if found["broken"]:
                    broken[path, width] = found["broken"]
    assert broken == {}
    assert whole >= 5 * len(WIDTHS)
