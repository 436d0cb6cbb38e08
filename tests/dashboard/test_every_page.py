"""No page is forgotten where all of them are looked at."""

import json

from benchmarks.service.pages import RESULT
from tests.dashboard.every_page import COMPUTED, NO_PAGES, PAGES, route_of, routes


def test_every_page_is_named() -> None:
    named = {route_of(path) for _, path in [*PAGES.values(), *COMPUTED.values()]}
    assert not named & NO_PAGES
    assert named | NO_PAGES == {route.path for route in routes()}


def test_every_page_was_measured_and_is_fast() -> None:
    measured = json.loads(RESULT.read_text())
    assert measured["pages"].keys() == PAGES.keys()
    assert measured["computed_afterwards"].keys() == COMPUTED.keys()
    slow = {
        name: each
        for name, each in measured["pages"].items()
        if each["slowest_milliseconds"] >= measured["bar_milliseconds"]
    }
    assert not slow
