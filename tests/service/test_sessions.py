"""Sessions of browsers: the cookie, the proof against forged requests, the end."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from service.app import create_app
from service.auth.cookie import COOKIE, LOOPBACK_COOKIE
from tests.core.artifacts.stand_in import DOMAIN
from tests.memory_queue import MemoryQueue
from tests.service.world import World, require_problem

HERE = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
DATASET = {"name": "a", "domain": DOMAIN, "declared_size": 9}


class Browser:
    """Keeps cookies, and says where its requests come from."""

    def __init__(self, client: TestClient, *, origin: str = "http://testserver") -> None:
        self.client = client
        self.headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
        self.token = ""

    def login(self, key: str) -> Response:
        answer = self.client.post("/v1/session", json={"key": key}, headers=self.headers)
        if answer.status_code == 201:
            self.token = answer.json()["csrf_token"]
        return answer

    def post(self, path: str, body: Any, **headers: str | None) -> Response:
        merged = self.headers | {"X-CSRF-Token": self.token} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }  # fmt: skip
        return self.client.post(
            path, json=body, headers={name: value for name, value in merged.items() if value is not None}
        )


@pytest.fixture
def browser(world: World) -> Iterator[Browser]:
    with TestClient(world.app) as client:
        yield Browser(client)


@pytest.fixture
def outside(world: World, settings) -> Iterator[Browser]:
    """The same API, reached by people through TLS."""
    production = settings.model_copy(update={"mode": "production"})
    app = create_app(
        production, database=world.database, queue=MemoryQueue(), store=world.store, clock=world.clock
    )
    with TestClient(app, base_url="https://testserver") as client:
        yield Browser(client, origin="https://testserver")


def test_a_login_sets_a_cookie_that_scripts_and_other_sites_cannot_use(world, browser, outside) -> None:
    alone = browser.login(world.owner.key).headers["set-cookie"]
    public = outside.login(world.owner.key).headers["set-cookie"]
    for cookie, name in ((alone, LOOPBACK_COOKIE), (public, COOKIE)):
        assert cookie.startswith(f"{name}=")
        for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
            assert part in cookie
        assert "Domain" not in cookie
    assert "Secure" in public
    assert "Secure" not in alone


def test_a_session_speaks_for_its_key(world, browser) -> None:
    made = browser.login(world.owner.key)
    assert made.status_code == 201
    assert made.json() == {
        "principal_id": str(world.owner.principal_id),
        "roles": ["owner"],
        "scopes": [],
        "via": "session",
        "held_until": None,
        "csrf_token": browser.token,
    }
    assert browser.client.get("/v1/session").json() == made.json()
    created = browser.post("/v1/datasets", DATASET)
    assert created.status_code == 201
    assert world.owner.get(f"/v1/datasets/{created.json()['id']}").status_code == 200
    require_problem(browser.client.get("/v1/people"), status=403, code="role-missing")


@pytest.mark.parametrize(
    "headers",
    [
        {"X_CSRF_Token": None},
        {"X_CSRF_Token": ""},
        {"X_CSRF_Token": "A" * 43},
        {"Origin": None, "Sec_Fetch_Site": None},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://testserver.evil.example"},
        {"Origin": "http://testserver:8080"},
        {"Origin": "http://[::1"},
        {"Origin": "testserver"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
    ],
    ids=str,
)
def test_a_change_that_another_site_may_have_caused_is_refused(world, browser, headers) -> None:
    browser.login(world.owner.key)
    require_problem(browser.post("/v1/datasets", DATASET, **headers), status=403, code="csrf-refused")
    assert world.owner.get("/v1/datasets").json()["items"] == []


@pytest.mark.parametrize("headers", [{"Origin": None}, {"Sec_Fetch_Site": None}], ids=str)
def test_one_word_of_the_browser_is_enough(world, browser, headers) -> None:
    browser.login(world.owner.key)
    assert browser.post("/v1/datasets", DATASET, **headers).status_code == 201


def test_an_insecure_page_of_the_same_host_is_another_site(world, outside) -> None:
    outside.login(world.owner.key)
    answer = outside.post("/v1/datasets", DATASET, Origin="http://testserver", Sec_Fetch_Site=None)
    require_problem(answer, status=403, code="csrf-refused")
    assert outside.post("/v1/datasets", DATASET).status_code == 201


def test_a_token_of_another_session_proves_nothing(world, browser) -> None:
    browser.login(world.owner.key)
    with TestClient(world.app) as client:
        other = Browser(client)
        other.login(world.owner.key)
    assert browser.token != other.token
    answer = browser.post("/v1/datasets", DATASET, X_CSRF_Token=other.token)
    require_problem(answer, status=403, code="csrf-refused")


def test_reading_needs_no_token_and_a_key_needs_no_origin(world, browser) -> None:
    browser.login(world.owner.key)
    assert browser.client.get("/v1/datasets").status_code == 200
    headers = {"Authorization": f"Bearer {world.owner.key}"}
    assert browser.client.post("/v1/datasets", json=DATASET, headers=headers).status_code == 201
    refused = browser.client.get("/v1/datasets", headers={"Authorization": "Bearer us_wrong"})
    require_problem(refused, status=401, code="key-refused")


def test_logging_out_ends_the_session_at_once(world, browser) -> None:
    browser.login(world.owner.key)
    cookies = dict(browser.client.cookies)
    require_problem(browser.client.delete("/v1/session"), status=403, code="csrf-refused")
    headers = browser.headers | {"X-CSRF-Token": browser.token}
    answer = browser.client.delete("/v1/session", headers=headers)
    assert answer.status_code == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]
    require_problem(browser.client.get("/v1/session"), status=401, code="key-missing")
    browser.client.cookies.update(cookies)
    require_problem(browser.client.get("/v1/session"), status=401, code="session-refused")


def test_a_session_ends_with_its_key(world, browser) -> None:
    made = world.owner.post("/v1/keys", {"name": "a", "roles": ["owner"]}).json()
    browser.login(made["key"])
    assert browser.client.get("/v1/datasets").status_code == 200
    world.admin.delete(f"/v1/keys/{made['id']}")
    require_problem(browser.client.get("/v1/datasets"), status=401, code="session-refused")


def test_a_session_that_is_used_does_not_idle(world, browser) -> None:
    browser.login(world.owner.key)
    for _ in range(6):
        world.clock.advance(seconds=25 * 60)
        assert browser.client.get("/v1/datasets").status_code == 200
    world.clock.advance(seconds=31 * 60)
    require_problem(browser.client.get("/v1/datasets"), status=401, code="session-refused")


def test_a_login_from_another_site_is_refused(world, browser) -> None:
    """Else a page could log its visitor in as somebody else, and see what is uploaded then."""
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
    ):
        answer = browser.client.post("/v1/session", json={"key": world.owner.key}, headers=headers)
        require_problem(answer, status=403, code="csrf-refused")
        assert "set-cookie" not in answer.headers
    assert browser.client.post("/v1/session", json={"key": world.owner.key}).status_code == 201


def wrong(key: str, last: str = "A") -> str:
    return key[:-2] + ("B" if key[-2] != "B" else "C") + last


def test_failed_logins_wait_longer_and_longer_in_every_process(world, settings, browser) -> None:
    second = create_app(
        settings, database=world.database, queue=MemoryQueue(), store=world.store, clock=world.clock
    )
    with TestClient(second) as client:
        processes = [browser, Browser(client)]
        for number in range(5):
            answer = processes[number % 2].login(wrong(world.owner.key))
            require_problem(answer, status=401, code="key-refused")
        for process in processes:
            answer = process.login(world.owner.key)
            require_problem(answer, status=429, code="login-throttled")
            assert answer.headers["retry-after"] == "1"
        world.clock.advance(seconds=1)
        assert processes[1].login(world.owner.key).status_code == 201
    headers = {"Authorization": f"Bearer {world.owner.key}"}
    assert world.client.get("/v1/datasets", headers=headers).status_code == 200


def test_what_is_no_key_counts_too(world, browser) -> None:
    for text in ("", "nonsense", "us_", "x" * 200, world.owner.key[:-1]):
        require_problem(browser.login(text), status=401, code="key-refused")
    require_problem(browser.login(world.owner.key), status=429, code="login-throttled")


def test_a_login_echoes_nothing(world, browser, log_text) -> None:
    browser.login(world.owner.key)
    browser.login(wrong(world.owner.key))
    browser.client.post("/v1/session", json={"key": [world.owner.key]}, headers=HERE)
    answer = browser.client.post("/v1/session", json={"key": world.owner.key + "x" * 999}, headers=HERE)
    require_problem(answer, status=422, code="invalid-input")
    assert world.owner.key[12:-2] not in answer.text
    assert world.owner.key[12:-2] not in log_text()


def test_logins_are_audited(world, browser) -> None:
    from core.db.tables import AuditEvent

    browser.login(world.owner.key)
    browser.client.delete("/v1/session", headers=HERE | {"X-CSRF-Token": browser.token})
    with world.database.read_only() as session:
        told = [event.action for event in session.query(AuditEvent).order_by(AuditEvent.sequence)]
    assert told == ["session.open", "session.close"]
