"""Somebody with a browser, without the browser: a cookie jar, forms with their token, and a look at what came."""

import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from fastapi.testclient import TestClient
from httpx2 import Response

from core.db.tables import ApiKey
from core.platform.access.keys import parse_link_token
from core.platform.access.roles import Role
from service.dashboard.rendering import CONTENT_POLICY
from tests.service.world import Caller, World

ORIGIN = "http://testserver"
ALL_ROLES = (Role.OWNER, Role.ANALYST, Role.ADMIN)
BROWSER = {"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Site": "same-origin", "Origin": ORIGIN}
_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


@dataclass
class Visitor:
    """A browser's session over the pages."""

    client: TestClient
    _tokens: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Response:
        return self.client.get(path, headers=BROWSER | headers, follow_redirects=False)

    def page(self, path: str, status: int = 200) -> str:
        """The text of a page, with what holds for every page."""
        answer = self.get(path)
        assert answer.status_code == status, answer.text
        require_page(answer)
        return str(answer.text)

    def token(self) -> str:
        """The token of this session's forms, which is the same on every page: a page is asked for it once."""
        session = str(sorted(self.client.cookies.items()))
        if session not in self._tokens:
            found = _TOKEN.search(self.get("/overview").text)
            assert found, "no form with a token"
            self._tokens[session] = found[1]
        return self._tokens[session]

    def send(self, path: str, headers: dict[str, str] | None = None, **fields: Any) -> Response:
        """Send a form, with the token unless another is given."""
        fields = {"csrf_token": self.token()} | {
            name: value for name, value in fields.items() if value is not None
        }
        return self.client.post(path, data=fields, headers=BROWSER | (headers or {}), follow_redirects=False)

    def follow(self, path: str, **fields: Any) -> str:
        """Send a form that must succeed, and the page that it leads to."""
        answer = self.send(path, **fields)
        assert answer.status_code == 303, answer.text
        return self.page(answer.headers["location"])


def enter(world: World, caller: Caller) -> Visitor:
    """Sign in with a caller's key."""
    client = TestClient(world.app, base_url=ORIGIN)
    # Without the portal of the world's client every request starts an event loop in a thread of its own.
    client.portal = world.client.portal
    visitor = Visitor(client)
    answer = visitor.client.post(
        "/sign-in", data={"key": caller.key, "next": "/overview"}, headers=BROWSER, follow_redirects=False
    )
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == "/overview"
    return visitor


def new_link(world: World) -> str:
    """Make a sign-in link of the world's owner valid, as `service.provision` does. Returns its token."""
    token = parse_link_token(f"ul_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}")
    assert token is not None
    with world.database.transaction() as session:
        first = session.query(ApiKey).filter_by(principal_id=world.owner.principal_id).first()
        assert first is not None
        known = world.directory.key_of_all_roles(session, first, ALL_ROLES)
        world.app.state.context.access.links.register(session, token, known=known)
    return token.text


def require_page(answer: Response) -> None:
    """What every page is: under the policy, kept nowhere, without a line of script or style of its own."""
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == CONTENT_POLICY
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    text = answer.text
    assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)", text), "an inline script"
    assert not re.search(r"<style|<[^<>]*\s(style|on[a-z]+)=|=.javascript:", text), (
        "an inline style or handler"
    )
    for form in re.findall(r"<form.*?</form>", text, re.DOTALL):
        # A form that only asks carries none: it would stand in the address.
        changes = 'method="post"' in form and not re.search('action="/sign-in(/link)?"', form)
        assert form.count('name="csrf_token"') == changes, form
