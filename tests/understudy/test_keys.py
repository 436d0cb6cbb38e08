"""`understudy keys` against the documented answers; the endpoints themselves are in tests/service/test_auth.py."""

import json
from typing import Any, ClassVar

import httpx
import pytest

from tests.understudy.scripted import Script, client_of
from understudy.cli import main
from understudy.client import Client
from understudy.errors import ServiceUnreachable, UnexpectedAnswer
from understudy.results.keys import ApiKey

KEY = {
    "id": "5b1f", "principal_id": "77aa", "name": "nightly", "roles": ["owner"], "scopes": ["datasets:write"],
    "prefix": "0a1b2c3d", "created_at": "2026-03-01T12:00:00Z", "expires_at": "2027-03-01T12:00:00Z",
    "last_used_at": None, "replaced_by": None, "revoked_at": None,
}  # fmt: skip
SECRET = "us_0a1b2c3d_" + "A" * 43


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    """The requests of the command, answered as documented."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        document: dict[str, Any] = KEY
        if request.method == "PUT":
            document = {"principal_id": "77aa"} | json.loads(request.content)
        elif request.method == "GET":
            document = {"items": [KEY, KEY | {"revoked_at": "2026-04-01T00:00:00Z"}]}
        elif request.url.path.endswith("/rotate"):
            document = KEY | {"key": SECRET, "old_key_ends_at": "2026-03-02T12:00:00Z"}
        elif request.method == "POST":
            document = KEY | {"key": SECRET}
        return httpx.Response(200, json=document)

    class Connection:
        keys: ClassVar = {"admin": "us_x", "owner": "us_y"}

        def client(self, role: str) -> Client:
            return Client("http://here", key=self.keys[role], transport=httpx.MockTransport(answer))

        def governing_client(self) -> Client:
            return self.client("admin")

    monkeypatch.setattr("understudy.cli.service.find_connection", lambda **_: Connection())
    return requests


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["understudy", "keys", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_a_new_key_alone_is_on_standard_output(sent, monkeypatch, capsys) -> None:
    words = ("create", "nightly", "--role", "owner", "--scope", "datasets:write", "--expires", "never")
    assert run(monkeypatch, *words) == 0
    out, err = capsys.readouterr()
    assert out.strip() == SECRET
    assert "us_0a1b2c3d_..." in err
    assert SECRET not in err
    assert sent[0].headers["authorization"] == "Bearer us_y", "an owner's key makes an owner's key"
    assert json.loads(sent[0].content) == {
        "name": "nightly", "roles": ["owner"], "scopes": ["datasets:write"], "expires_at": "never",
    }  # fmt: skip


def test_the_default_expiry_is_the_services(sent, monkeypatch) -> None:
    assert run(monkeypatch, "create", "a", "--role", "analyst", "--role", "owner") == 0
    assert json.loads(sent[0].content) == {"name": "a", "roles": ["analyst", "owner"], "scopes": []}
    assert run(monkeypatch, "create", "a") == 2, "a key without a role is none"


def test_a_list_shows_no_secret(sent, monkeypatch, capsys) -> None:
    assert run(monkeypatch, "list") == 0
    live, revoked = capsys.readouterr().out.splitlines()
    assert live == (
        "5b1f  us_0a1b2c3d_...  owner  nightly  principal 77aa  only datasets:write  expires 2027-03-01T12:00:00Z  never used"
    )
    assert revoked.endswith("revoked 2026-04-01T00:00:00Z")


def test_rotating_tells_until_when_the_old_one_works(sent, monkeypatch, capsys) -> None:
    assert run(monkeypatch, "rotate", "5b1f") == 0
    out, err = capsys.readouterr()
    assert out.strip() == SECRET
    assert "the old key works until 2026-03-02T12:00:00Z" in err
    assert (sent[0].method, sent[0].url.path) == ("POST", "/v1/keys/5b1f/rotate")


def test_revoking(sent, monkeypatch, capsys) -> None:
    assert run(monkeypatch, "revoke", "5b1f") == 0
    assert (sent[0].method, sent[0].url.path) == ("DELETE", "/v1/keys/5b1f")
    assert "5b1f" in capsys.readouterr().out


def test_principals_have_names(sent, monkeypatch, capsys) -> None:
    assert run(monkeypatch, "name", "77aa", "Research, north") == 0
    assert (sent[0].method, sent[0].url.path) == ("PUT", "/v1/principals/77aa")
    assert capsys.readouterr().out == "77aa  Research, north\n"
    assert ApiKey.from_json(KEY | {"principal_name": "Research"}).principal_name == "Research"


def test_json_is_one_document_alone_on_standard_output(sent, monkeypatch, capsys) -> None:
    made = ("create", "a", "--role", "owner")
    for words in (made, ("list",), ("rotate", "5b1f"), ("revoke", "5b1f"), ("name", "77aa", "b")):
        assert run(monkeypatch, *words, "--json") == 0
        out = capsys.readouterr().out
        assert json.loads(out), words
        assert out.count(SECRET) == (words[0] in {"create", "rotate"})


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("create_key", {"name": "a", "roles": ["owner"]}), ("rotate_key", {"key_id": "5b1f"})],
)
def test_making_a_key_is_never_repeated_by_itself(method: str, arguments: dict[str, Any]) -> None:
    script = Script(httpx.ReadTimeout("lost"))
    with client_of(script) as client, pytest.raises(ServiceUnreachable):
        getattr(client, method)(**arguments)
    assert len(script.requests) == 1


def test_an_unexpected_answer_is_refused() -> None:
    script = Script(httpx.Response(200, json={"items": [{"id": "a"}]}))
    with client_of(script) as client, pytest.raises(UnexpectedAnswer):
        client.list_keys()
