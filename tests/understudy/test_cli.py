"""The command as words in and words out; what needs a service is in tests/system."""

import json
import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from understudy.cli import app, main
from understudy.extras import how_to_install
from understudy.http.uploads import CONTENT_TYPES


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["understudy", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_the_commands_are_the_promised_ones() -> None:
    command = typer.main.get_command(app)
    assert sorted(command.commands) == [
        "ask",
        "audit",
        "backup",
        "budget",
        "check-rules",
        "demo",
        "doctor",
        "domain",
        "dossier",
        "dummy",
        "figures",
        "keys",
        "known",
        "ledger",
        "member",
        "members",
        "notify",
        "order",
        "overview",
        "people",
        "precision",
        "publish",
        "quality",
        "quote",
        "report",
        "restore",
        "sample",
        "sign-in",
        "signing-keys",
        "status",
        "up",
        "verify",
    ]  # type: ignore[attr-defined]
    for name, member in command.commands.items():  # type: ignore[attr-defined]
        assert member.help, name
        undescribed = [parameter.name for parameter in member.params if not getattr(parameter, "help", None)]
        assert undescribed == [], name


@pytest.mark.parametrize("words", [["--help"], ["budget", "--help"], ["domain", "--help"]])
def test_help_lists_every_command_once_and_cuts_no_sentence(words: list[str]) -> None:
    said = CliRunner().invoke(app, words).output
    assert "..." not in said.partition("\n\n")[2]
    assert "Others:" not in said, "every command has a section"
    shown = re.findall(r"^  ([a-z][a-z-]+)  ", said, re.MULTILINE)
    assert len(shown) == len(set(shown))
    if words == ["--help"]:
        assert set(shown) == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
        assert shown[0] == "domain", "what a newcomer begins with"


def test_the_command_tells_its_version() -> None:
    answer = CliRunner().invoke(app, ["--version"])
    assert (answer.exit_code, answer.output) == (0, f"understudy {version('understudy')}\n")


def test_what_can_be_sent_is_said_where_rows_are_asked_for() -> None:
    command = typer.main.get_command(app)
    domain = command.commands["domain"]  # type: ignore[attr-defined]
    for asked in (command.commands["publish"], domain.commands["draft"]):  # type: ignore[attr-defined]
        (rows,) = (parameter.help for parameter in asked.params if parameter.name == "rows")
        assert [suffix for suffix in CONTENT_TYPES if suffix not in rows] == [], asked.name


@pytest.mark.parametrize("words", [("quote", "d", "--epsilon", 1), ("status",), ("ledger", "d")])
def test_without_a_service_the_way_to_one_is_shown(
    words: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *words, "--data-folder", tmp_path) == 1
    assert "start one with `understudy up`" in capsys.readouterr().err


def test_a_draft_is_written_once_and_must_be_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, draft = tmp_path / "rows.csv", tmp_path / "domain.json"
    rows.write_text("age,sick\n" + "".join(f"{20 + n % 50},{'yes' if n % 3 else 'no'}\n" for n in range(100)))
    assert run(monkeypatch, "domain", "draft", rows, "--out", draft) == 0
    assert draft.stat().st_mode & 0o777 == 0o600, "it lists values of the rows"
    names = [column["name"] for column in json.loads(draft.read_text())["columns"]]
    assert names == ["age", "sick"]
    assert "Go through the quoted values with" in capsys.readouterr().out
    assert run(monkeypatch, "domain", "draft", rows, "--out", draft) == 1
    assert run(monkeypatch, "domain", "draft", rows, "--out", draft, "--force") == 0
    capsys.readouterr()
    out = ("--out", tmp_path / "out", "--data-folder", tmp_path / "data")
    assert run(monkeypatch, "publish", rows, "--domain", draft, "--epsilon", 1, "--delta", 1e-6, *out) == 1
    assert "is a draft" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_demo_with_half_of_a_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "demo", "--table", tmp_path / "rows.csv", "--out", tmp_path) == 1
    assert "both --table ROWS and --domain" in capsys.readouterr().err


def test_the_demo_of_a_light_client_goes_on_with_uv_or_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "understudy.simulation", None)
    monkeypatch.delenv("UV", raising=False)
    words = ["demo", "--rows", "100", "--out", str(tmp_path)]
    assert run(monkeypatch, *words) == 1
    assert how_to_install("all") in capsys.readouterr().err

    class Replaced(Exception):
        """What `os.execv` does not come back from."""

    def replaced(program: str, given: list[str]) -> None:
        raise Replaced(program, given)

    monkeypatch.setenv("UV", "/bin/uv")
    monkeypatch.setattr("understudy.cli.demo.direct_reference", lambda _extra: None)
    assert run(monkeypatch, *words) == 1, "no source is known: a bare name would run another project's code"
    assert how_to_install("all") in capsys.readouterr().err
    monkeypatch.setattr(
        "understudy.cli.demo.direct_reference", lambda extra: f"understudy[{extra}] @ file:///wheel"
    )
    monkeypatch.setattr("os.execv", replaced)
    monkeypatch.setattr("sys.argv", ["understudy", *words])
    with pytest.raises(Replaced) as caught:
        main()
    program, given = caught.value.args
    assert program == "/bin/uv"
    assert given[:4] == ["/bin/uv", "tool", "run", "--from"]
    assert given[4] == "understudy[all] @ file:///wheel"
    assert given[5:] == ["understudy", *words]


def test_a_missing_option_is_explained() -> None:
    run = CliRunner().invoke(app, ["publish", "rows.csv", "--domain", "domain.json", "--epsilon", "1"])
    assert run.exit_code == 2
    assert (
        "Missing option '--delta'. Delta of the job's guarantee: far below one in the number of people"
        in run.output
    )
