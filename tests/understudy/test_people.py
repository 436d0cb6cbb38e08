"""`understudy people` against the documented answers; the endpoints themselves are in tests/service/test_people.py."""

import io
import json
from typing import Any, ClassVar

import httpx
import pytest

from tests.understudy.scripted import Script, client_of
from tests.understudy.test_keys import KEY, SECRET
from understudy.cli import main
from understudy.cli import people as command
from understudy.client import Client
from understudy.errors import ServiceUnreachable, UnexpectedAnswer

TOKEN = "ue_0a1b2c3d_" + "B" * 43
ENROLMENT = {
    "id": "e1", "principal_id": "77aa", "state": "waiting", "is_recovery": False, "created_by": "ad",
    "created_at": "2026-03-01T12:00:00Z", "expires_at": "2026-03-04T12:00:00Z", "accepted_at": None,
    "held_until": None, "cancelled_at": None, "cancelled_by": None,
}  # fmt: skip
PERSON = {
    "principal_id": "77aa", "name": "Ada", "roles": ["owner"], "created_at": "2026-03-01T12:00:00Z",
    "enrolled_at": None, "held_until": None,
}  # fmt: skip


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    """The requests of the command, answered as documented."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        document: dict[str, Any] = ENROLMENT | {"state": "cancelled"}
        match (request.method, request.url.path):
            case ("POST", "/v1/people"):
                document = PERSON | {"enrolment": ENROLMENT | {"token": TOKEN}}
            case ("POST", "/v1/enrolments"):
                document = KEY | {"key": SECRET, "held_until": "2026-03-05T12:00:00Z"}
            case ("POST", _):
                document = ENROLMENT | {"is_recovery": True, "token": TOKEN}
            case ("GET", "/v1/people"):
                document = {"items": [PERSON, PERSON | {"enrolled_at": "2026-03-02T12:00:00Z"}]}
            case ("GET", _):
                document = {"items": [ENROLMENT | {"held_until": "2026-03-05T12:00:00Z"}]}
        return httpx.Response(200, json=document)

    def client(_url: str, *, key: str) -> Client:
        return Client("http://here", key=key, transport=httpx.MockTransport(answer))

    class Connection:
        keys: ClassVar = {"admin": "us_x"}
        url = "http://here"

        def client(self, role: str) -> Client:
            return client(self.url, key=self.keys[role])

        def governing_client(self) -> Client:
            return self.client("admin")

    monkeypatch.setattr("understudy.cli.service.find_connection", lambda **_: Connection())
    monkeypatch.setattr(command, "Client", client)
    return requests


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["understudy", "people", *words])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_a_token_alone_is_on_standard_output(sent, monkeypatch, capsys) -> None:
    assert run(monkeypatch, "create", "Ada", "--role", "owner") == 0
    out, err = capsys.readouterr()
    assert out.strip() == TOKEN
    assert TOKEN not in err
    assert "works once, until 2026-03-04T12:00:00Z" in err
    assert json.loads(sent[0].content) == {"name": "Ada", "roles": ["owner"]}


def test_a_recovery_says_so(sent, monkeypatch, capsys) -> None:
    assert run(monkeypatch, "enrol", "77aa") == 0
    out, err = capsys.readouterr()
    assert out.strip() == TOKEN
    assert "e1  recovery  waiting" in err
    assert sent[0].url.path == "/v1/people/77aa/enrolments"


def test_lists_hold_no_token(sent, monkeypatch, capsys) -> None:
    assert run(monkeypatch, "list") == 0
    assert capsys.readouterr().out.splitlines() == [
        "77aa  Ada  owner  not enrolled",
        "77aa  Ada  owner  enrolled 2026-03-02T12:00:00Z",
    ]
    assert run(monkeypatch, "enrolments") == 0
    assert "held until 2026-03-05T12:00:00Z" in capsys.readouterr().out
    assert run(monkeypatch, "cancel", "e1") == 0
    assert "e1  enrolment  cancelled" in capsys.readouterr().out
    assert sent[-1].method == "DELETE"


def test_a_token_is_read_from_standard_input_and_needs_no_key(sent, monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(TOKEN + "\n"))
    assert run(monkeypatch, "accept", "--name", "laptop") == 0
    out, err = capsys.readouterr()
    assert out.strip() == SECRET
    assert "stays shut until 2026-03-05T12:00:00Z" in err
    assert json.loads(sent[0].content) == {"token": TOKEN, "name": "laptop"}
    assert "authorization" not in sent[0].headers
    monkeypatch.setattr("sys.stdin", io.StringIO(TOKEN))
    assert run(monkeypatch, "accept", "--key", "us_mine") == 0
    assert sent[1].headers["authorization"] == "Bearer us_mine"


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("create_person", {"name": "a", "roles": ["owner"]}), ("accept_enrolment", {"token": TOKEN})],
)
def test_enrolling_is_never_repeated_by_itself(method: str, arguments: dict[str, Any]) -> None:
    script = Script(httpx.ReadTimeout("lost"))
    with client_of(script) as client, pytest.raises(ServiceUnreachable):
        getattr(client, method)(**arguments)
    assert len(script.requests) == 1


def test_an_unexpected_answer_is_refused() -> None:
    script = Script(httpx.Response(200, json={"items": [{"id": "a"}]}))
    with client_of(script) as client, pytest.raises(UnexpectedAnswer):
        client.list_people()
