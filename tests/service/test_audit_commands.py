"""`understudy audit` and `understudy ledger` against the real application."""

import json
from pathlib import Path

import httpx
import pytest

from core.ledger import audit_log
from core.platform.access.roles import Role
from core.platform.witness import verification
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import Caller, World
from understudy import Client
from understudy.cli import main
from understudy.connection import Connection


class Bridge(httpx.BaseTransport):
    """Sends the client's requests to the application in this process."""

    def __init__(self, world: World) -> None:
        self._world = world

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._world.client.request(
            request.method,
            request.url.raw_path.decode(),
            headers=dict(request.headers),
            content=request.read(),
        )
        headers = {name: text for name, text in answer.headers.items() if name != "content-encoding"}
        return httpx.Response(answer.status_code, headers=headers, content=answer.content)


@pytest.fixture
def command(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command as somebody. Returns its exit status, output and errors."""

    def run(caller: Caller, *words: object) -> tuple[int, str, str]:
        def connected(**_: object) -> Connection:
            return Connection("http://testserver", dict.fromkeys(("owner", "admin", "analyst"), caller.key))

        def client(connection: Connection, role: str) -> Client:
            return Client(connection.url, key=connection.keys[role], transport=Bridge(world))

        monkeypatch.setattr(Connection, "client", client)
        monkeypatch.setattr("understudy.cli.service.find_connection", connected)
        monkeypatch.setattr("sys.argv", ["understudy", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


def test_an_owner_reads_the_trail_of_a_dataset_and_nobody_of_another(world: World, command) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    body = {"name": "another's", "domain": DOMAIN, "declared_size": 1000}
    other = world.stranger.post("/v1/datasets", body).json()["id"]
    status, out, _ = command(world.owner, "audit", "trail", dataset_id, "--json")
    assert status == 0
    assert [(event["about"], event["action"]) for event in json.loads(out)] == [
        ("dataset", "budget.set"),
        ("member", "member.add"),
        ("dataset", "dataset.declare"),
    ]
    status, out, _ = command(world.owner, "audit", "trail", dataset_id, "--limit", 1)
    assert (status, "budget.set" in out, "dataset.declare" in out) == (0, True, False)
    status, _, told = command(world.owner, "audit", "trail", other)
    assert (status, "dataset-not-found" in told) == (1, True)


def test_grants_over_all_datasets_are_shown_with_what_is_left(world: World, command) -> None:
    one, other = world.ready(), world.ready()
    status, out, _ = command(world.admin, "budget", "grants", "--state", "open", "--json")
    assert (status, {grant["dataset_ids"][0] for grant in json.loads(out)}) == (0, {one, other})
    status, out, _ = command(world.admin, "budget", "grants")
    assert (status, out.count("left")) == (0, 2)
    status, out, _ = command(
        world.admin, "budget", "grants", other, "--holder", world.analyst.principal_id, "--json"
    )
    assert (status, [grant["dataset_ids"] for grant in json.loads(out)]) == (0, [[other]])


def test_an_auditor_lists_exports_and_verifies(world: World, command, tmp_path: Path) -> None:
    auditor = world.caller(Role.AUDITOR)
    dataset_id = world.declare()
    status, out, _ = command(auditor, "audit", "list", "--action", "dataset.declare", "--json")
    assert status == 0
    (event,) = [json.loads(line) for line in out.splitlines() if line.startswith("{")][:1]
    assert event["object"] == dataset_id
    status, out, _ = command(auditor, "audit", "list", "--limit", 1)
    assert status == 0
    target = tmp_path / "audit_log.jsonl"
    assert command(auditor, "audit", "export", "--out", target)[0] == 0
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert lines[-1]["trailer"]["events"] == len(lines) - 1 > 1
    status, out, _ = command(auditor, "audit", "verify")
    assert (status, "the audit log is whole" in out) == (0, True)
    assert command(auditor, "audit", "export", "--out", target, "--format", "pdf")[0] == 1
    assert command(world.analyst, "audit", "list")[0] == 1


def test_a_broken_audit_log_ends_with_a_status(world: World, command, monkeypatch) -> None:
    with world.database.transaction() as session:
        audit_log.append(session, actor="a", action="b", object="c", outcome="done", at=world.clock.now())
    broken = verification.AuditCheck(checked=0, broken_at=1, problem="a link is missing")
    monkeypatch.setattr("service.auditing.endpoints.check_audit", lambda *_, **__: broken)
    status, _, errors = command(world.admin, "audit", "verify")
    assert status == 1
    assert "the audit log is broken: a link is missing" in errors


def test_a_ledger_is_shown_noted_and_verified(world: World, command, tmp_path: Path) -> None:
    dataset_id = world.ready()
    for words in (("ledger", dataset_id), ("ledger", "show", dataset_id)):
        status, out, _ = command(world.analyst, *words)
        assert (status, "CAP_SET" in out) == (0, True)
    status, out, _ = command(world.analyst, "ledger", "head", dataset_id)
    assert status == 0
    noted = tmp_path / "head.json"
    noted.write_text(out[out.index("{") : out.rindex("}") + 1])
    assert world.order(dataset_id).status_code == 202
    status, out, _ = command(world.analyst, "ledger", "verify", dataset_id, "--witness", noted)
    assert (status, "the ledger is whole" in out) == (0, True)
    assert command(world.analyst, "ledger", "verify", dataset_id)[0] == 0
    noted.write_text(json.dumps(json.loads(noted.read_text()) | {"hash": "00" * 32}))
    status, _, errors = command(world.analyst, "ledger", "verify", dataset_id, "--witness", noted)
    assert (status, "history differs" in errors) == (1, True)
    noted.write_text("{}")
    assert command(world.analyst, "ledger", "verify", dataset_id, "--witness", noted)[0] == 1


def test_a_service_that_lies_about_a_noted_head_is_found(
    world: World, command, tmp_path: Path, monkeypatch
) -> None:
    dataset_id = world.ready()
    noted = tmp_path / "head.json"
    noted.write_text(json.dumps({"sequence": 1, "hash": "00" * 32}))
    whole = {"intact": True, "checked": 9, "problem": None}
    monkeypatch.setattr("understudy.client.auditing.Auditing.verify_ledger", lambda *_, **__: whole)
    status, _, errors = command(world.analyst, "ledger", "verify", dataset_id, "--witness", noted)
    assert (status, "does not show entry 1" in errors) == (1, True)
