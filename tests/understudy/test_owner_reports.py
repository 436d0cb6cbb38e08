"""What both clients send about owner reports, how they wait, and how the file is kept."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from tests.understudy.scripted import AsyncScript, Documented, Script, check_documented, client_of
from understudy import AsyncClient
from understudy.cli import app
from understudy.results.owner_reports import FAILED_MARK, ReportNotMade

REPORT = {
    "id": "s",
    "release_id": "r",
    "target": "sick",
    "state": "made",
    "file": "/v1/sealed-reports/s/file",
}
WAITING = REPORT | {"state": "running", "file": None}
RELEASE = {"id": "r", "job_id": "j", "dataset_id": "d"}
HTML = b"<!doctype html><p>for the owner</p>"
CALLS: list[Documented] = [
    ("order", {"release_id": "r", "target": "sick"}, REPORT, "POST", "/v1/releases/r/sealed-reports", {"target": "sick"}),
    ("list", {"release_id": "r"}, {"items": [REPORT]}, "GET", "/v1/releases/r/sealed-reports", None),
    ("read", {"report_id": "s"}, REPORT, "GET", "/v1/sealed-reports/s", None),
    ("wait", {"report_id": "s"}, REPORT, "GET", "/v1/sealed-reports/s", None),
    ("delete", {"report_id": "s"}, {}, "DELETE", "/v1/sealed-reports/s", None),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=[call[0] for call in CALLS])
def test_both_clients_send_the_documented_request(call: Documented) -> None:
    check_documented((f"reports.{call[0]}", *call[1:]))


def answers() -> tuple[httpx.Response, ...]:
    return (
        httpx.Response(200, json=RELEASE),
        httpx.Response(202, json=WAITING),
        httpx.Response(200, json=WAITING),
        httpx.Response(200, json=REPORT),
        httpx.Response(200, content=HTML),
    )


def test_a_release_writes_its_report_where_only_this_user_reads_it(tmp_path: Path) -> None:
    script, file = Script(*answers()), tmp_path / "report.html"
    with client_of(script) as client:
        assert client.read_release("r").owner_report(file, target="sick") == file
    assert file.read_bytes() == HTML
    assert file.stat().st_mode & 0o777 == 0o600
    assert [request.method for request in script.requests] == ["GET", "POST", "GET", "GET", "GET"]


def test_so_does_a_release_of_the_asynchronous_client(tmp_path: Path) -> None:
    script, file = AsyncScript(*answers()), tmp_path / "report.html"

    async def no_pause(_seconds: float) -> None: ...

    async def send() -> Path:
        transport = httpx.MockTransport(script.answer)
        async with AsyncClient("http://service", key="k", transport=transport, sleep=no_pause) as client:
            return await (await client.read_release("r")).owner_report(file)

    assert asyncio.run(send()) == file
    assert file.read_bytes() == HTML
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_report_that_was_not_made_is_an_error(tmp_path: Path) -> None:
    failed = REPORT | {"state": "failed", "file": None}
    with client_of(Script(httpx.Response(200, json=failed))) as client, pytest.raises(ReportNotMade):
        client.reports.wait("s")
    file = tmp_path / "report.html"
    account = b"<!doctype html>" + FAILED_MARK + b"<pre>why</pre>"
    script = Script(httpx.Response(200, content=account))
    with client_of(script) as client, pytest.raises(ReportNotMade, match="says why"):
        client.reports.download("s", file)
    assert file.read_bytes() == account, "the owner may read why"
    assert file.stat().st_mode & 0o777 == 0o600


class Connected:
    """A connection whose client is scripted; the command must act as the owner."""

    def __init__(self, *answers: httpx.Response) -> None:
        self.script = Script(*answers)

    def client(self, role: str) -> Any:
        assert role == "owner"
        return client_of(self.script)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_orders_waits_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    file = tmp_path / "report.html"
    connected = Connected(*answers()[1:])
    monkeypatch.setattr("understudy.cli.service.find_connection", lambda **_: connected)
    words = ["report", "r", "--out", str(file), "--target", "sick", *(["--json"] if as_json else [])]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    assert file.read_bytes() == HTML
    assert json.loads(connected.script.requests[0].content) == {"target": "sick"}
    if as_json:
        assert json.loads(ran.stdout) == REPORT | {"written_to": str(file)}
    else:
        assert "NOT differentially private" in ran.stdout
