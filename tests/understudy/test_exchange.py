"""Repetitions and answers, with answers written by the test."""

from pathlib import Path

import httpx
import pytest

from tests.understudy.scripted import DATASET, JOB, Answer, Script, both, client_of
from understudy import Client, InputUnusable, Refused, Repetitions, ServiceUnreachable, UnexpectedAnswer
from understudy.http.exchange import trusts_environment


def test_both_clients_repeat_a_safe_request_after_a_lost_connection_and_a_busy_service() -> None:
    def answers() -> list[Answer]:
        return [
            httpx.ConnectError("refused"),
            httpx.Response(503, json={}),
            httpx.Response(200, json=DATASET),
        ]

    sent, sent_async = both(answers, "read_dataset", "d")
    assert len(sent) == len(sent_async) == 3
    assert sent[0].headers["Authorization"] == sent_async[0].headers["Authorization"] == "Bearer k"


def test_an_order_is_repeated_under_one_idempotency_key() -> None:
    script = Script(httpx.ReadTimeout("lost"), httpx.Response(202, json=JOB))
    with client_of(script) as client:
        job = client.order_job("d", epsilon=1.0, delta=1e-6, options={"steps": 5})
    first, second = script.requests
    assert job.id == "j"
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.content == second.content


def test_two_orders_have_two_idempotency_keys() -> None:
    script = Script(httpx.Response(202, json=JOB), httpx.Response(202, json=JOB))
    with client_of(script) as client:
        client.order_job("d", epsilon=1.0)
        client.order_job("d", epsilon=1.0)
    assert len({request.headers["Idempotency-Key"] for request in script.requests}) == 2


def test_a_request_that_is_not_safe_to_repeat_is_sent_once() -> None:
    script = Script(httpx.ReadTimeout("lost"))
    with client_of(script) as client, pytest.raises(ServiceUnreachable, match="too long"):
        client.declare_dataset(name="n", domain={}, declared_size=1)
    assert len(script.requests) == 1


def test_a_refusal_is_not_repeated() -> None:
    script = Script(httpx.Response(409, json={"code": "budget-refused", "detail": "No."}))
    with client_of(script) as client, pytest.raises(Refused, match="No"):
        client.read_dataset("d")
    assert len(script.requests) == 1


def test_repetitions_end_and_pauses_grow() -> None:
    pauses: list[float] = []
    script = Script(*[httpx.ConnectError("refused") for _ in range(4)])
    with client_of(script, pauses) as client, pytest.raises(ServiceUnreachable, match="cannot be reached"):
        client.read_dataset("d")
    assert pauses == [0.25, 0.5, 1.0]


def test_the_service_may_say_when_to_come_back_within_reason() -> None:
    pauses: list[float] = []
    busy = [httpx.Response(503, headers={"Retry-After": wait}, json={}) for wait in ("2", "3600")]
    script = Script(*busy, httpx.Response(200, json=DATASET))
    with client_of(script, pauses) as client:
        client.read_dataset("d")
    assert pauses == [2.0, 10.0]


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>another program</html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"id": "d"}),
    ],
)
def test_an_answer_of_another_form_is_named_as_such(answer: httpx.Response) -> None:
    with client_of(Script(answer)) as client, pytest.raises(UnexpectedAnswer, match="understudy service"):
        client.read_dataset("d")


def test_a_list_is_read_page_by_page() -> None:
    pages = [
        {"items": [DATASET], "next_before": "d"},
        {"items": [DATASET | {"id": "e"}], "next_before": None},
    ]
    script = Script(*[httpx.Response(200, json=page) for page in pages])
    with client_of(script) as client:
        assert [dataset.id for dataset in client.list_datasets()] == ["d", "e"]
    assert script.requests[1].url.params["before"] == "d"


def test_a_download_that_breaks_off_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> object:
        yield b"first piece"
        raise httpx.RemoteProtocolError("broken off")

    target = tmp_path / "bundle.zip"
    script = Script(httpx.Response(200, content=broken()))  # type: ignore[arg-type]
    with client_of(script) as client, pytest.raises(ServiceUnreachable, match="completely"):
        client.download_bundle("r", target)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_download_keeps_the_file_that_was_there(tmp_path: Path) -> None:
    target = tmp_path / "bundle.zip"
    target.write_text("older")
    script = Script(httpx.Response(404, json={"code": "release-not-found", "detail": "No."}))
    with client_of(script) as client, pytest.raises(Refused):
        client.download_bundle("r", target)
    assert target.read_text() == "older"


def test_proxies_are_never_asked_for_a_service_on_this_machine() -> None:
    assert not trusts_environment("http://127.0.0.1:8321")
    assert not trusts_environment("http://localhost:8321")
    assert trusts_environment("https://understudy.example.org")


def test_a_request_waits_as_long_as_the_client_was_asked_to() -> None:
    script = Script(httpx.Response(200, json=DATASET))
    with Client("http://service", key="k", transport=httpx.MockTransport(script), timeout=2.5) as client:
        client.read_dataset("d")
    assert script.requests[0].extensions["timeout"]["read"] == 2.5


def test_no_repetition_when_switched_off() -> None:
    script = Script(httpx.ConnectError("refused"))
    transport = httpx.MockTransport(script)
    once = Client("http://service", key="k", transport=transport, repetitions=Repetitions(attempts=1))
    with once as client, pytest.raises(ServiceUnreachable):
        client.check_health()


@pytest.mark.parametrize("status", [204, 302, 307])
def test_what_comes_instead_of_a_file_is_not_kept_as_one(tmp_path: Path, status: int) -> None:
    """A page that signs people in answers a download with a redirection to itself."""
    target = tmp_path / "bundle.zip"
    target.write_text("older")
    script = Script(httpx.Response(status, headers={"Location": "https://sso.example.org"}, text="moved"))
    with client_of(script) as client, pytest.raises(UnexpectedAnswer, match=f"HTTP status {status}"):
        client.download_bundle("r", target)
    assert target.read_text() == "older"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("items", [5, [5], [{"id": "d"}], None])
def test_a_list_of_another_form_is_named_as_such(items: object) -> None:
    script = Script(httpx.Response(200, json={"items": items, "next_before": None}))
    with client_of(script) as client, pytest.raises(UnexpectedAnswer, match="understudy service"):
        client.list_datasets()


def test_a_moment_to_come_back_that_is_no_number_is_not_believed() -> None:
    pauses: list[float] = []
    busy = [httpx.Response(503, headers=[(b"Retry-After", wait)], json={}) for wait in (b"\xb2", b"tomorrow")]
    script = Script(*busy, httpx.Response(200, json=DATASET))
    with client_of(script, pauses) as client:
        client.read_dataset("d")
    assert pauses == [0.25, 0.5]


@pytest.mark.parametrize(
    "identity", ["", "..", ".", "../keys", "d?limit=1", "d#", "d/", "%2e%2e", "d\n", "ä"]
)
def test_an_id_does_not_make_a_request_another_one(identity: str) -> None:
    script = Script()
    with client_of(script) as client, pytest.raises(InputUnusable, match="id"):
        client.auditing.delete_dataset(identity)
    assert script.requests == []
