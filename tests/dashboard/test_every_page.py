"""No page is forgotten where all of them are looked at."""

from tests.dashboard.every_page import COMPUTED, NO_PAGES, PAGES, route_of, routes


def test_every_page_is_named() -> None:
    named = {route_of(path) for _, path in [*PAGES.values(), *COMPUTED.values()]}
    assert not named & NO_PAGES
    assert named | NO_PAGES == {route.path for route in routes()}
