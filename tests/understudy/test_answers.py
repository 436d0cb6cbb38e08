"""The command before programs: JSON everywhere in one form, nothing but text in pipes, completion that works."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from understudy.cli import app, main
from understudy.cli.answers import write_answer
from understudy.errors import UnderstudyError

WITHOUT_JSON = {
    "backup": "it writes a folder of files and answers by its exit status",
    "restore": "it answers by its exit status, and names the ledgers that have forgotten something",
    "sign-in": "it prints one link, for the person who sits there",
    "up": "it runs until it is stopped; what it announces stands in the data folder as JSON",
}
"""Commands without --json, each with its reason."""
RUN = "import sys; sys.argv[0] = 'understudy'; from understudy.cli import main; main()"
"""As the script that pip installs, whose name completion goes by."""


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    inside = getattr(command, "commands", None)
    if inside is None:
        yield " ".join(words), command
        return
    for name, one in sorted(inside.items()):
        yield from _commands(one, (*words, name))


def test_every_command_answers_as_json_or_has_a_reason_not_to() -> None:
    found = dict(_commands(typer.main.get_command(app)))
    assert len(found) > 30
    without = {
        name
        for name, command in found.items()
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without == set(WITHOUT_JSON), "give it --json (understudy/cli/answers.py), or a reason"
    assert all(command.help for command in found.values())


def test_an_answer_has_two_forms(capsys: pytest.CaptureFixture[str]) -> None:
    long = "[red]two[/red] " + "wide " * 60 + "end"
    write_answer({"a": ["ü"]}, ["one", long], as_json=False)
    assert capsys.readouterr().out.splitlines() == ["one", long], "as it is: no markup, no folding"
    write_answer([{"a": 1}], ["one"], as_json=True)
    out = capsys.readouterr().out
    assert json.loads(out) == [{"a": 1}]
    assert out.startswith("[\n  {")


def _understudy(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *words],
        capture_output=True, text=True, env=dict(os.environ) | environment, timeout=600, check=False,
    )  # fmt: skip


def test_nothing_but_text_in_a_pipe_and_the_next_step_in_an_error(tmp_path) -> None:
    """No colours, no bars, no folding by the width of a terminal that is not there."""
    refused = _understudy("status", "--data-folder", str(tmp_path), TERM="xterm-256color", COLUMNS="40")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "\x1b" not in refused.stderr
    assert "understudy up" in refused.stderr, "what to do next"


def test_completion() -> None:
    """What the script that --install-completion writes asks for, and gets."""
    asked = {"COMP_WORDS": "understudy bud", "COMP_CWORD": "1"}
    completed = _understudy(_UNDERSTUDY_COMPLETE="complete_bash", **asked)
    assert completed.stdout.split() == ["budget"], completed.stderr


def test_a_file_that_cannot_be_written_is_one_line(
    tmp_path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    def ended_by(error: OSError | UnderstudyError) -> int:
        def fail() -> None:
            raise error

        monkeypatch.setattr("understudy.cli.app", fail)
        with pytest.raises(SystemExit) as ended:
            main()
        return int(str(ended.value.code))

    before = signal.getsignal(signal.SIGTERM)
    try:
        assert (
            ended_by(FileNotFoundError(2, "No such file or directory", str(tmp_path / "absent" / "x.csv")))
            == 1
        )
        assert capsys.readouterr().err == f"understudy: {tmp_path}/absent/x.csv: No such file or directory\n"
        assert ended_by(UnderstudyError("named \x1b[2J by somebody")) == 1
        assert capsys.readouterr().err == "understudy: named \\u001b[2J by somebody\n"
        with pytest.raises(ConnectionError):
            ended_by(ConnectionError("a fault of the program is not hidden"))
    finally:
        signal.signal(signal.SIGTERM, before)
