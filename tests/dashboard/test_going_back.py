"""What a person typed is still there after the Back button: a refused form, and a session that ended meanwhile, lose nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.dashboard.browsing import browser_path, chromium, served
from tests.dashboard.visitor import BROWSER, Visitor, enter
from tests.service.world import World

TYPED = {"Epsilon": "0.3", "Delta": "1e-7", "Purpose": "A purpose that took ten minutes to write."}


def _fill(tab: Any, **changes: str) -> None:
    for label, text in (TYPED | changes).items():
        tab.get_by_label(label).fill(text)


def _typed(tab: Any) -> dict[str, str]:
    return {label: tab.get_by_label(label).input_value() for label in TYPED}


def _sign_in(tab: Any, world: World) -> None:
    tab.get_by_label("API key").fill(world.analyst.key)
    tab.get_by_role("button", name="Sign in").click()


@contextmanager
def _request_form(world: World) -> Iterator[Any]:
    """A tab with the form of a budget request."""
    browser_path()
    dataset_id = world.declare()
    with served(world.app) as address, chromium() as browser:
        tab = browser.new_page()
        tab.goto(f"{address}/datasets/{dataset_id}/people")
        _sign_in(tab, world)
        yield tab


def test_a_refused_form_keeps_what_was_typed(world: World) -> None:
    """Reproduced: after the Back button numbers were gone, because their fields forbade the browser to keep them."""
    with _request_form(world) as tab:
        _fill(tab, Epsilon="a third")
        tab.get_by_role("button", name="Submit request").click()
        tab.get_by_text("is not a number").wait_for()
        tab.go_back()
        assert _typed(tab) == TYPED | {"Epsilon": "a third"}


def test_a_session_that_ended_meanwhile_loses_no_form(world: World) -> None:
    """Reproduced: the sign-in page took the place of the form, without a word, and what was typed was gone."""
    with _request_form(world) as tab:
        _fill(tab)
        tab.context.clear_cookies()
        tab.get_by_role("button", name="Submit request").click()
        tab.get_by_text("Nothing was sent on.").wait_for()
        with tab.expect_popup() as opened:
            tab.get_by_role("link", name="Sign in in a new tab").click()
        _sign_in(opened.value, world)
        opened.value.get_by_role("heading", name="Overview").wait_for()
        tab.go_back()
        assert _typed(tab) == TYPED
        tab.get_by_role("button", name="Submit request").click()
        tab.get_by_text("Your request is submitted.").wait_for()
    (filed,) = world.analyst.get("/v1/budget-requests").json()["items"]
    assert filed["purpose"] == TYPED["Purpose"]


def test_a_form_without_a_session_is_answered_by_a_page(world: World) -> None:
    visitor: Visitor = enter(world, world.analyst)
    token = visitor.token()
    visitor.client.cookies.clear()
    answer = visitor.client.post("/keys", data={"csrf_token": token}, headers=BROWSER, follow_redirects=False)
    assert answer.status_code == 401
    assert "Your session has ended" in answer.text
    assert 'href="/sign-in" target="_blank"' in answer.text
    assert "Authorization" not in answer.text, "that is for programs"
    assert visitor.get("/keys").headers["location"] == "/sign-in?next=/keys"
