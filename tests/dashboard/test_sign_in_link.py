"""The link that `understudy up` prints: once, for minutes, on this machine, with all roles."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from core.db.tables import BrowserSession
from core.platform.access.errors import LinkRefused
from service.app import create_app
from tests.dashboard.browsing import browser_path, chromium, served
from tests.dashboard.visitor import ALL_ROLES, BROWSER, ORIGIN, Visitor, new_link, require_page
from tests.memory_queue import MemoryQueue
from tests.service.conftest import log_text
from tests.service.world import Caller, World

__all__ = ["log_text"]


@pytest.fixture
def link(world: World) -> Callable[[], str]:
    """Makes links of the world's owner valid."""
    return lambda: new_link(world)


@pytest.fixture
def nobody(world: World) -> Iterator[Visitor]:
    client = TestClient(world.app, base_url=ORIGIN)
    client.portal = world.client.portal
    return Visitor(client)


def take(visitor: Visitor, token: str, **headers: str) -> Response:
    return visitor.client.post(
        "/sign-in/link", data={"token": token}, headers=BROWSER | headers, follow_redirects=False
    )


def test_a_new_link_in_the_tab_of_an_old_one_signs_in(world: World, link: Callable[[], str]) -> None:
    """Reproduced: it differs from the page's address behind the # alone, so the browser loads nothing and the token stayed there."""
    browser_path()
    with served(world.app) as address, chromium() as browser:
        tab = browser.new_page()
        used = link()
        for token, shown in ((used, "Overview"), (used, "Sign in on this machine"), (link(), "Overview")):
            tab.goto(f"{address}/sign-in/link#{token}")
            tab.wait_for_function("location.hash === ''", timeout=10_000)
            assert not tab.get_by_label("Link token").is_visible()
            tab.get_by_role("button", name="Sign in").click()
            tab.get_by_role("heading", name=shown).wait_for()


def test_one_link_opens_every_page_once(
    world: World, nobody: Visitor, link: Callable[[], str], log_text: Callable[[], str]
) -> None:
    token = link()
    for _ in range(3):
        assert token not in nobody.page("/sign-in/link")
    answer = take(nobody, token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/overview")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    for path in ("overview", "requests", "grants", "jobs", "releases", "people", "keys", "system", "audit"):
        nobody.page(f"/{path}")
    nobody.page("/datasets/new")
    again = take(nobody, token)
    require_page(again)
    assert again.status_code == 401
    assert "link-refused" in again.text
    assert token not in again.text
    events = world.admin.get("/v1/audit").json()["items"]
    assert [event["action"] for event in events if event["outcome"] == "done"] == ["session.open-by-link"]
    assert [event["action"] for event in events if event["outcome"] == "link-refused"] == ["take_link"]
    assert token not in log_text()
    assert token.split("_", 2)[2] not in log_text()


def test_a_link_ends_by_itself_and_with_its_key(
    world: World, nobody: Visitor, link: Callable[[], str]
) -> None:
    late, orphan = link(), link()
    mine = world.owner.get("/v1/keys").json()["items"]
    key_id = next(key["id"] for key in mine if key["name"] == "sign-in links")
    world.clock.at += timedelta(minutes=10)
    assert take(nobody, late).status_code == 401
    fresh = link()
    assert world.admin.delete(f"/v1/keys/{key_id}").status_code == 200
    for token in (orphan, fresh, "ul_00000000_" + "A" * 43, "nonsense", ""):
        assert take(nobody, token).status_code in {401, 422}
    world.clock.at += timedelta(hours=1)  # the failures wait
    assert take(nobody, link()).status_code == 303, "a new link has a new key"


def test_a_crowd_takes_a_link_once(world: World, link: Callable[[], str]) -> None:
    token, links = link(), world.app.state.context.access.links

    def take_it(_: int) -> bool:
        try:
            with world.database.transaction() as session:
                links.take(session, token)
        except LinkRefused:
            return False
        return True

    with ThreadPoolExecutor(8) as crowd:
        assert sum(crowd.map(take_it, range(8))) == 1


def test_other_sites_and_other_machines_take_no_link(
    world: World, settings, nobody: Visitor, link: Callable[[], str]
) -> None:
    token = link()
    assert take(nobody, token, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    for changes in ({"host": "0.0.0.0"}, {"mode": "production"}):
        app = create_app(
            settings.model_copy(update=changes),
            database=world.database, queue=MemoryQueue(), store=world.store, clock=world.clock,
        )  # fmt: skip
        client = TestClient(app, base_url="https://testserver")
        headers = BROWSER | {"Origin": "https://testserver"}
        assert client.get("/sign-in/link", headers=headers).status_code == 404
        assert client.post("/sign-in/link", data={"token": token}, headers=headers).status_code == 404
    with world.database.read_only() as session:
        assert session.query(BrowserSession).count() == 0


def test_the_one_person_decides_alone_and_it_is_recorded(
    world: World, nobody: Visitor, link: Callable[[], str]
) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    take(nobody, link())
    assert "Add yourself as an analyst" in nobody.page(f"/datasets/{dataset_id}/people")
    nobody.follow(f"/datasets/{dataset_id}/members", principal_id=str(world.owner.principal_id))
    wanted = {"epsilon": "0.5", "delta": "1e-6", "purpose": "a test"}
    filed = nobody.send(f"/datasets/{dataset_id}/requests", **wanted).headers["location"].partition("?")[0]
    assert "You filed this request yourself." in nobody.page(filed)
    approval = {"decision": "approve", "epsilon": "0.5", "delta": "1e-6", "once": str(uuid4())}
    assert "approved" in nobody.follow(f"{filed}/decide", **approval)
    trail = [event["action"] for event in world.admin.get("/v1/audit").json()["items"]]
    assert trail.count("two-person-rule.waive") == 1


def test_every_other_key_with_all_roles_needs_a_second_person(world: World) -> None:
    """Also in the embedded stack: only the session of a sign-in link waives the rule."""
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    mighty: Caller = world.caller(*ALL_ROLES)
    world.admit(dataset_id, mighty)
    order = {"epsilon": 0.5, "delta": 1e-6, "purpose": "a test"}
    filed = mighty.post(f"/v1/datasets/{dataset_id}/budget-requests", order).json()["id"]
    answer = mighty.post(
        f"/v1/budget-requests/{filed}/approve", {}, headers={"Idempotency-Key": secrets.token_hex(8)}
    )
    assert answer.json()["code"] == "second-person-needed"
