import re
from collections.abc import Callable
from urllib.parse import quote
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from service.dashboard.sign_in_pages import HOME, own_path, way_in
from tests.dashboard.visitor import BROWSER, ORIGIN, Visitor, enter, require_page
from tests.service.world import World


@pytest.fixture
def nobody(world: World) -> Visitor:
    return Visitor(TestClient(world.app, base_url=ORIGIN))


def test_the_root_leads_to_the_first_page_or_the_way_in(
    world: World, nobody: Visitor, sign_in: Callable[..., Visitor]
) -> None:
    assert nobody.get("/").headers["location"] == "/sign-in"
    assert sign_in("owner").get("/").headers["location"] == "/overview"


def test_everybody_gets_in_and_out(world: World, sign_in: Callable[..., Visitor]) -> None:
    for role in ("owner", "analyst", "admin", "auditor"):
        visitor = sign_in(role)
        assert "<h1>Overview</h1>" in visitor.page("/overview")
        assert "You have signed out." in visitor.follow("/sign-out")
        assert visitor.get("/overview").headers["location"] == "/sign-in"


def test_the_cookie_is_out_of_reach_of_scripts(world: World, nobody: Visitor) -> None:
    answer = nobody.client.post(
        "/sign-in", data={"key": world.owner.key}, headers=BROWSER, follow_redirects=False
    )
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert world.owner.key not in answer.text


def test_a_wrong_key_is_refused_on_the_form_and_then_has_to_wait(world: World, nobody: Visitor) -> None:
    statuses = []
    for _ in range(8):
        answer = nobody.client.post("/sign-in", data={"key": "us_00000000_nothing"}, headers=BROWSER)
        statuses.append(answer.status_code)
        require_page(answer)
        assert "us_00000000_nothing" not in answer.text
        assert 'role="alert"' in answer.text
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert int(answer.headers["retry-after"]) >= 1


def test_refused_attempts_are_in_the_audit_log(world: World, nobody: Visitor) -> None:
    nobody.client.post("/sign-in", data={"key": "us_00000000_nothing"}, headers=BROWSER)
    events = world.admin.get("/v1/audit?outcome=key-refused").json()["items"]
    assert [event["action"] for event in events] == ["sign_in"]


def test_other_sites_sign_nobody_in(world: World, nobody: Visitor) -> None:
    strange = ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://elsewhere.example"}, {"Origin": "null"})
    for headers in strange:
        answer = nobody.client.post("/sign-in", data={"key": world.owner.key}, headers=BROWSER | headers)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
        require_page(answer)


def test_a_form_without_its_token_changes_nothing(world: World, sign_in: Callable[..., Visitor]) -> None:
    visitor = sign_in("owner")
    for token in ("", "wrong", sign_in("admin").token()):
        answer = visitor.send("/sign-out", csrf_token=token)
        assert answer.status_code == 403
        assert "csrf-refused" in answer.text
    foreign = visitor.send("/sign-out", headers={"Sec-Fetch-Site": "same-site"})
    assert foreign.status_code == 403
    silent = visitor.client.post(
        "/sign-out", data={"csrf_token": visitor.token()}, headers={"Accept": "text/html"}
    )
    assert silent.status_code == 403
    visitor.page("/overview")


def test_whoever_is_not_signed_in_is_sent_to_the_form_and_back(world: World, nobody: Visitor) -> None:
    answer = nobody.get("/jobs?before=1")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=/jobs%3Fbefore%3D1"
    form = nobody.page(answer.headers["location"])
    assert 'name="next" value="/jobs?before=1"' in form
    part = nobody.get("/overview", **{"HX-Request": "true", "HX-Current-URL": f"{ORIGIN}/jobs"})
    assert part.status_code == 401
    assert part.headers["hx-redirect"] == "/sign-in?next=/jobs"


def test_a_link_of_another_site_is_asked_for_again(world: World, nobody: Visitor) -> None:
    """Browsers keep the cookie back from what another site causes; our own page then asks with it."""
    answer = nobody.get("/jobs?before=1", **{"Sec-Fetch-Site": "cross-site"})
    require_page(answer)
    assert 'http-equiv="refresh" content="0; url=/jobs?before=1"' in answer.text
    hostile = nobody.get("//elsewhere.example", **{"Sec-Fetch-Site": "cross-site"})
    assert "refresh" not in hostile.text


def test_a_session_that_ended_leads_to_the_form(world: World) -> None:
    visitor = enter(world, world.owner)
    world.admin.delete(f"/v1/keys/{world.owner.get('/v1/session').json()['principal_id']}")
    keys = world.admin.get("/v1/keys").json()["items"]
    mine = next(key["id"] for key in keys if key["principal_id"] == str(world.owner.principal_id))
    assert world.admin.delete(f"/v1/keys/{mine}").status_code == 200
    assert visitor.get("/overview").headers["location"] == "/sign-in"


@pytest.mark.parametrize(
    "text",
    [
        "https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "/%2F/elsewhere.example",
        "/%5celsewhere.example", "javascript:alert(1)", "/a\n/b", "/a\tb", "elsewhere", "", "/v1/session", "/sign-in?next=/",
        "/sign-out", "/ü", "http:///x",
    ],
    ids=range(15),
)  # fmt: skip
def test_only_own_paths_are_gone_back_to(text: str) -> None:
    assert own_path(text) == HOME


def test_signing_in_leads_nowhere_else(world: World, nobody: Visitor) -> None:
    for text in ("//elsewhere.example", "/v1/session"):
        answer = nobody.client.post(
            "/sign-in", data={"key": world.owner.key, "next": text}, headers=BROWSER, follow_redirects=False
        )
        assert answer.headers["location"] == HOME
        nobody.client.cookies.clear()
        assert f'value="{HOME}"' in nobody.page(f"/sign-in?next={quote(text)}")


def test_who_is_signed_in_is_led_past_the_form(world: World, sign_in: Callable[..., Visitor]) -> None:
    """The browser's Back, once after signing in, showed the form again, as if the session were lost."""
    visitor = sign_in("analyst")
    assert visitor.get("/sign-in").headers["location"] == HOME
    assert visitor.get("/sign-in?next=/jobs").headers["location"] == "/jobs"
    assert visitor.get("/sign-in?next=//elsewhere.example").headers["location"] == HOME
    assert "You have signed out." in visitor.follow("/sign-out")
    assert "You have signed out." in visitor.page("/sign-in?done=signed-out")


def test_own_paths_survive() -> None:
    assert own_path("/datasets/1/ledger?before=2") == "/datasets/1/ledger?before=2"
    assert way_in("/jobs") == "/sign-in?next=/jobs"
    assert way_in(HOME) == "/sign-in"


def test_files_are_named_after_their_content_and_kept(world: World, nobody: Visitor) -> None:
    text = nobody.page("/sign-in")
    paths = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', text))
    assert len(paths) >= 4
    for path in paths:
        answer = nobody.client.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert nobody.client.get(path, headers={"Accept-Encoding": "identity"}).content == answer.content
    assert nobody.client.get("/static/dashboard.000000000000.css").status_code == 404
    assert nobody.client.get("/static/..%2fpages.py").status_code == 404


def test_people_get_pages_and_programs_problems(world: World, nobody: Visitor) -> None:
    require_page(nobody.get("/nowhere"))
    assert nobody.get("/nowhere").status_code == 404
    for path, headers in {"/nowhere": {}, "/v1/nowhere": BROWSER}.items():
        answer = nobody.client.get(path, headers=headers)
        assert answer.headers["content-type"] == "application/problem+json"


def test_what_nobody_expected_is_a_page_too(
    world: World, sign_in: Callable[..., Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a value of a row: 4711")

    monkeypatch.setattr("service.dashboard.overview.dataset_names", fail)
    text = sign_in("owner").page("/overview", 500)
    assert "internal-error" in text
    assert "4711" not in text
    assert '<a href="/jobs"' in text, "the menu of who is signed in"


@pytest.mark.parametrize(
    ("role", "path", "status"),
    [("owner", "/nowhere", 404), ("owner", f"/jobs/{UUID(int=7)}", 404), ("analyst", "/audit", 403)],
)
def test_an_error_page_has_the_menu_of_who_is_signed_in(
    sign_in: Callable[..., Visitor], role: str, path: str, status: int
) -> None:
    text = sign_in(role).page(path, status)
    assert '<a href="/jobs"' in text
    assert ('<a href="/audit"' in text) is False
    assert "Sign out" in text


def test_no_page_is_part_of_the_described_interface(world: World) -> None:
    paths = set(world.app.openapi()["paths"])
    assert all(path.startswith("/v1/") or path in {"/healthz", "/readyz", "/metrics"} for path in paths), (
        paths
    )
