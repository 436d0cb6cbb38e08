"""`understudy notify` and `understudy dossier`, and the same of the client, against the real application."""

import json
from pathlib import Path

import pytest

from tests.service.test_audit_commands import Bridge
from tests.service.world import Caller, World
from understudy import Client
from understudy.cli import main
from understudy.connection import Connection


@pytest.fixture
def command(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command as somebody. Returns its exit status, output and errors."""

    def run(caller: Caller, *words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(
            Connection,
            "client",
            lambda *_: Client("http://testserver", key=caller.key, transport=Bridge(world)),
        )
        connection = Connection("http://testserver", {"owner": caller.key})
        monkeypatch.setattr("understudy.cli.service.find_connection", lambda **_: connection)
        monkeypatch.setattr("sys.argv", ["understudy", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


def test_endpoints_from_the_command_line(world: World, command) -> None:
    def ok(*words: object) -> str:
        status, out, errors = command(world.owner, "notify", *words)
        assert status == 0, errors
        return str(out)

    secret = ok("add", "https://example.org/hook", "--kind", "job.failed")
    assert secret.startswith("whsec_")
    assert secret.count("\n") == 1, "the secret alone, so that it can be piped"
    (found,) = json.loads(ok("list", "--json"))
    assert (found["target"], found["kinds"], found["state"]) == (
        "https://example.org/hook",
        ["job.failed"],
        "active",
    )
    endpoint = found["id"]
    assert "https://example.org/hook" in ok("list")
    ok("test", endpoint)
    (entry,) = json.loads(ok("log", endpoint, "--json"))
    assert (entry["kind"], entry["state"]) == ("test", "waiting")
    assert "not tried yet" in ok("log", endpoint)
    assert ok("rotate", endpoint) != secret
    for words, fault in (
        (("resume", endpoint), "active"), (("confirm", endpoint, "x"), "active"), (("add", "a@example.org"), "e-mail"),
    ):  # fmt: skip
        status, _, errors = command(world.owner, "notify", *words)
        assert status == 1
        assert fault in errors
    ok("remove", endpoint)
    assert ok("list") == ""
    assert json.loads(ok("list", "--json")) == []


def test_the_dossier_from_the_command_line(world: World, command, tmp_path: Path) -> None:
    dataset_id = world.declare()
    for name in ("paper.html", "signed.json"):
        status, out, errors = command(world.owner, "dossier", dataset_id, "--out", tmp_path / name)
        assert (status, out) == (0, ""), errors
    assert (tmp_path / "paper.html").read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "signed.json").read_text())["dataset"]["id"] == dataset_id
    status, _, errors = command(world.owner, "dossier", dataset_id, "--out", tmp_path / "paper.pdf")
    assert status == 1
    assert ".html" in errors
