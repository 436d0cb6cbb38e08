"""Sign-in at the identity provider, against a provider that runs here: every part of its answer is checked."""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from pydantic import SecretStr

from core.platform.settings import Settings
from service.app import create_app
from service.auth.cookie import LOOPBACK_ATTEMPT_COOKIE
from service.auth.tokens import principal_of
from tests.dashboard.browsing import browser_path, chromium, served
from tests.dashboard.visitor import BROWSER, ORIGIN, Visitor, require_page
from tests.memory_queue import MemoryQueue
from tests.service.oidc import Provider
from tests.service.oidc import served as provided
from tests.service.world import World
from understudy.embedded.supervisor import free_port

ROLE_MAP = {"stats": "owner", "research": "analyst"}


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with provided(Provider()) as provider:
        provider.add_key("first", "ES256")
        yield provider


@dataclass
class Scene:
    """A browser, the service that it wants to enter, and the provider that knows its person."""

    world: World
    provider: Provider
    visitor: Visitor
    app: FastAPI

    def leave(self, back_to: str = "/jobs") -> dict[str, str]:
        """Go to the provider and sign in there. Returns the parameters that it sends the browser back with."""
        away = self.visitor.get(f"/sign-in/account?{urlencode({'next': back_to})}")
        assert away.status_code == 303, away.text
        sent_back = httpx.get(away.headers["location"]).headers["location"]
        assert sent_back.startswith(f"{ORIGIN}/sign-in/callback?")
        return dict(httpx.URL(sent_back).params)

    def come_back(self, **parameters: str) -> Response:
        headers = {"Sec-Fetch-Site": "cross-site"}
        return self.visitor.get(f"/sign-in/callback?{urlencode(parameters)}", **headers)


def scene_of(world: World, settings: Settings, provider: Provider, **changes: Any) -> Scene:
    given = {
        "oidc_issuer": provider.address,
        "oidc_audience": "api",
        "oidc_role_map": ROLE_MAP,
        "oidc_client_id": "understudy",
        "oidc_redirect_url": f"{ORIGIN}/sign-in/callback",
    }
    configured = Settings.model_validate(settings.model_dump() | given | changes)
    app = create_app(
        configured, database=world.database, queue=MemoryQueue(), store=world.store, clock=world.clock
    )
    client = TestClient(app, base_url=ORIGIN)
    client.portal = world.client.portal
    return Scene(world, provider, Visitor(client), app)


@pytest.fixture
def scene(world: World, settings: Settings, running: Provider) -> Scene:
    now = int(world.clock.now().timestamp())
    running.address = running.address.replace("localhost", "127.0.0.1")
    running.account = {"sub": "ada", "iat": now, "exp": now + 300, "roles": ["stats", "research"]}
    running.client, running.error, running.status, running.discovery = ("understudy", None), None, 200, {}
    return scene_of(world, settings, running)


def test_an_account_enters_and_leaves(scene: Scene) -> None:
    assert "/sign-in/account?next=%2Fjobs" in scene.visitor.page("/sign-in?next=/jobs")
    answer = scene.come_back(**scene.leave())
    assert answer.status_code == 200, answer.text
    assert 'content="0; url=/jobs"' in answer.text
    cookies = answer.headers.get_list("set-cookie")
    assert any(
        "understudy-session=" in one and "SameSite=strict" in one and "HttpOnly" in one for one in cookies
    )
    assert any(f'{LOOPBACK_ATTEMPT_COOKIE}=""' in one for one in cookies), "an attempt counts once"
    me = str(principal_of(scene.provider.address, "ada"))
    assert me in scene.visitor.page("/jobs")
    assert "2 roles" in scene.visitor.page("/datasets/new")
    refused = scene.visitor.send("/keys", name="a", roles="owner", lifetime_days="30")
    assert "token-makes-no-keys" in refused.text, "a key would outlive the account"
    assert "You have signed out." in scene.visitor.follow("/sign-out")
    assert scene.visitor.get("/jobs").headers["location"] == "/sign-in?next=/jobs"
    done = [each for each in scene.world.admin.get("/v1/audit").json()["items"] if each["outcome"] == "done"]
    assert [each["action"] for each in done] == ["session.close", "session.open-by-account"]
    assert {each["actor"] for each in done} == {f"{me}/{me}"}


def test_the_rights_of_an_account_are_those_of_its_roles(scene: Scene) -> None:
    scene.provider.account["roles"] = ["research", "unknown"]
    scene.come_back(**scene.leave())
    assert scene.visitor.get("/datasets/new").status_code == 403
    assert scene.visitor.get("/people").status_code == 403
    dataset_id = scene.world.declare()
    assert scene.visitor.get(f"/datasets/{dataset_id}").status_code == 404


def test_people_of_the_provider_count_for_the_two_person_rule(scene: Scene) -> None:
    world = scene.world
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    scene.come_back(**scene.leave())
    ada = principal_of(scene.provider.address, "ada")
    world.owner.put(f"/v1/datasets/{dataset_id}/members/{ada}", None)
    wanted = {"epsilon": "0.5", "delta": "1e-6", "purpose": "a test"}
    filed = scene.visitor.send(f"/datasets/{dataset_id}/requests", **wanted).headers["location"]
    request_id = filed.partition("?")[0].rpartition("/")[2]
    answer = world.owner.post(
        f"/v1/budget-requests/{request_id}/approve", {}, headers={"Idempotency-Key": "once-and-for-all"}
    )
    assert answer.status_code == 200, answer.text


def test_an_account_with_all_roles_is_not_the_one_person_of_the_machine(
    world: World, settings: Settings, scene: Scene
) -> None:
    """Reproduced: its session has all roles and no key, and an embedded stack waived the two-person rule for it."""
    roles = ROLE_MAP | {"it": "admin"}
    scene = scene_of(world, settings, scene.provider, oidc_role_map=roles)
    scene.provider.account["roles"] = list(roles)
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    scene.come_back(**scene.leave())
    ada = principal_of(scene.provider.address, "ada")
    world.owner.put(f"/v1/datasets/{dataset_id}/members/{ada}", None)
    wanted = {"epsilon": "0.5", "delta": "1e-6", "purpose": "a test"}
    filed = (
        scene.visitor.send(f"/datasets/{dataset_id}/requests", **wanted).headers["location"].partition("?")[0]
    )
    approval = {"decision": "approve", "epsilon": "0.5", "delta": "1e-6", "once": str(uuid4())}
    assert "second-person-needed" in scene.visitor.send(f"{filed}/decide", **approval).text


def test_a_client_with_a_secret_proves_it(world: World, settings: Settings, scene: Scene) -> None:
    scene.provider.client = ("understudy", "s:e/c r%t")
    for method in ("client_secret_basic", "client_secret_post"):
        scene.provider.discovery = {"token_endpoint_auth_methods_supported": [method]}
        right = scene_of(world, settings, scene.provider, oidc_client_secret=SecretStr("s:e/c r%t"))
        assert right.come_back(**right.leave()).status_code == 200
    wrong = scene_of(world, settings, scene.provider, oidc_client_secret=SecretStr("another"))
    refused(wrong, wrong.come_back(**wrong.leave()), "sign-in-refused")


def refused(scene: Scene, answer: Response, code: str, status: int = 401) -> None:
    require_page(answer)
    assert answer.status_code == status
    assert f"<code>{code}</code>" in answer.text
    assert "Sign in with your organisation" in answer.text, "the way to begin again"
    assert not any("understudy-session=" in one for one in answer.headers.get_list("set-cookie"))
    assert scene.visitor.get("/overview").status_code == 303
    if status != 503:
        events = scene.world.admin.get(f"/v1/audit?outcome={code}").json()["items"]
        assert {event["action"] for event in events} == {"provider_answer"}


def test_each_wrong_answer_is_a_clear_page(scene: Scene) -> None:
    """By what is wrong: the parameters of the answer, the claims of the account, and the code that the page shows."""
    cases: dict[str, tuple[dict[str, str | None], dict[str, Any], str]] = {
        "wrong state": ({"state": "wrong"}, {}, "sign-in-expired"),
        "no state": ({"state": None}, {}, "sign-in-expired"),
        "another provider's answer": ({"iss": "https://elsewhere.example"}, {}, "sign-in-refused"),
        "a made-up code": ({"code": "made-up"}, {}, "sign-in-refused"),
        "no code": ({"code": None}, {}, "sign-in-refused"),
        "the provider refused": ({"code": None, "error": "access_denied"}, {}, "sign-in-refused"),
        "wrong nonce": ({}, {"nonce": "another"}, "sign-in-refused"),
        "another provider's token": ({}, {"iss": "https://elsewhere.example"}, "sign-in-refused"),
        "a token for another client": ({}, {"aud": "api"}, "sign-in-refused"),
        "an expired token": ({}, {"exp": 0}, "sign-in-refused"),
        "no subject": ({}, {"sub": None}, "sign-in-refused"),
        "an unknown subject": ({}, {"roles": ["unknown"]}, "account-without-role"),
    }
    for what, (parameters, claims, code) in cases.items():
        scene.world.clock.at += timedelta(hours=2)  # earlier failures are forgotten
        now = int(scene.world.clock.now().timestamp())
        scene.provider.account = {"sub": "ada", "iat": now, "exp": now + 300, "roles": ["stats"]} | claims
        given = {name: text for name, text in (scene.leave() | parameters).items() if text is not None}
        answer = scene.come_back(**given)
        assert f"<code>{code}</code>" in answer.text, what
        refused(scene, answer, code, status=403 if code == "account-without-role" else 401)


def test_who_is_refused_tries_again_for_the_same_page(scene: Scene) -> None:
    scene.leave("/jobs?state=failed")
    answer = scene.come_back(error="access_denied")
    assert 'name="next" value="/jobs?state=failed"' in answer.text


def test_a_cookie_that_was_made_up_leads_nowhere_else(scene: Scene) -> None:
    page = base64.urlsafe_b64encode(b"https://elsewhere.example").rstrip(b"=").decode()
    moment = int(scene.world.clock.now().timestamp())
    scene.visitor.client.cookies.set(
        LOOPBACK_ATTEMPT_COOKIE, f"made-up.{moment}.{page}", domain="testserver.local", path="/"
    )
    answer = scene.come_back(error="access_denied")
    assert "elsewhere" not in answer.text
    assert 'name="next" value="/overview"' in answer.text


def test_an_answer_counts_once(scene: Scene) -> None:
    given = scene.leave()
    asked = scene.visitor.client.cookies[LOOPBACK_ATTEMPT_COOKIE]
    assert scene.come_back(**given).status_code == 200
    scene.visitor.follow("/sign-out")
    refused(scene, scene.come_back(**given), "sign-in-expired")
    scene.visitor.client.cookies.set(LOOPBACK_ATTEMPT_COOKIE, asked, domain="testserver.local", path="/")
    refused(scene, scene.come_back(**given), "sign-in-refused")


def test_an_answer_counts_for_ten_minutes_in_the_browser_that_asked(scene: Scene) -> None:
    given = scene.leave()
    scene.world.clock.at += timedelta(minutes=10)
    refused(scene, scene.come_back(**given), "sign-in-expired")
    other = scene.leave()
    scene.leave()
    assert scene.come_back(**other).status_code == 401, "a later attempt of the same browser replaces it"


def test_a_provider_that_is_away_is_said(world: World, settings: Settings, scene: Scene) -> None:
    given = scene.leave()
    scene.provider.status = 500
    refused(scene, scene.come_back(**given), "issuer-unavailable", status=503)
    fresh = scene_of(world, settings, scene.provider)
    refused(fresh, fresh.visitor.get("/sign-in/account"), "issuer-unavailable", status=503)


def test_guessing_waits(scene: Scene) -> None:
    statuses = [scene.come_back(state="wrong", code="x").status_code for _ in range(7)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert int(scene.come_back(state="wrong").headers["retry-after"]) >= 1


def test_a_browser_goes_there_and_comes_back(world: World, settings: Settings, scene: Scene) -> None:
    """Chromium applies SameSite and the content policy: the provider is another site, `localhost`."""
    browser_path()
    scene.provider.address = scene.provider.address.replace("127.0.0.1", "localhost")
    with ExitStack() as open_things:
        port = free_port(0)
        address = f"http://127.0.0.1:{port}"
        there = scene_of(
            world, settings, scene.provider, oidc_redirect_url=f"{address}/sign-in/callback", port=port
        )
        open_things.enter_context(served(there.app, port=port))
        tab = open_things.enter_context(chromium()).new_page(viewport={"width": 360, "height": 740})
        tab.goto(f"{address}/jobs")
        tab.get_by_role("link", name="Sign in with your organisation").click()
        tab.wait_for_url(f"{address}/jobs")
        tab.get_by_role("button", name="Sign out").click()
        scene.provider.account["roles"] = []
        tab.get_by_role("link", name="Sign in with your organisation").click()
        tab.get_by_text("has no role in this service").wait_for()
        assert tab.context.cookies() == []


def test_without_a_client_there_is_no_way(world: World) -> None:
    visitor = Visitor(TestClient(world.app, base_url=ORIGIN))
    assert "organisation" not in visitor.page("/sign-in")
    for path in ("/sign-in/account", "/sign-in/callback?code=a&state=b"):
        assert visitor.client.get(path, headers=BROWSER, follow_redirects=False).status_code == 404


def test_settings_that_cannot_work_stop_the_start(settings: Settings) -> None:
    given = {
        "oidc_issuer": "https://id.example", "oidc_audience": "api", "oidc_role_map": ROLE_MAP,
        "oidc_client_id": "understudy", "oidc_redirect_url": "https://understudy.example/sign-in/callback",
    }  # fmt: skip
    Settings.model_validate(settings.model_dump() | given)
    for changes in (
        {"oidc_redirect_url": None},
        {"oidc_redirect_url": "https://understudy.example/elsewhere"},
        {"oidc_redirect_url": "ftp://understudy.example/sign-in/callback"},
        {"oidc_client_id": None},
        {"oidc_issuer": None},
        {"oidc_scopes": "profile"},
        {"mode": "production", "oidc_redirect_url": "http://understudy.example/sign-in/callback"},
    ):
        with pytest.raises(ValueError, match=r"oidc_|scopes"):
            Settings.model_validate(settings.model_dump() | given | changes)
