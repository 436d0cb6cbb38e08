"""A stack for the duration of one command stops when the last command that uses it is done."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.embedded import background
from understudy.embedded.background import background_stack, used_stack

SUPERVISOR = """#!{python}
import json, pathlib, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print(json.dumps({{"url": "http://127.0.0.1:1"}}), flush=True)
signal.sigwait([signal.SIGTERM])
time.sleep(0.2)
(pathlib.Path(sys.argv[3]) / "stopped").touch()
"""
SECONDS = 20.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder whose supervisor only announces itself, and says when it stopped."""
    program = tmp_path / "supervisor"
    program.write_text(SUPERVISOR.format(python=sys.executable))
    program.chmod(0o700)
    monkeypatch.setattr(background, "launcher_prefix", lambda **_given: [])
    monkeypatch.setattr(sys, "executable", str(program))
    data = tmp_path / "data"
    data.mkdir()
    return data


@pytest.fixture
def using(folder: Path) -> Iterator[threading.Event]:
    """Another command that uses the stack until the event is set."""
    begun, done = threading.Event(), threading.Event()

    def use() -> None:
        with used_stack(folder):
            begun.set()
            assert done.wait(SECONDS)
            assert not (folder / "stopped").exists(), "the stack ran as long as it was used"

    thread = threading.Thread(target=use)
    thread.start()
    assert begun.wait(SECONDS)
    yield done
    done.set()
    thread.join()


def test_a_stack_that_nobody_else_uses_stops_at_once(folder: Path) -> None:
    waits: list[str] = []
    with background_stack(folder, waiting=lambda: waits.append("waiting")) as url:
        assert url == "http://127.0.0.1:1"
    assert (folder / "stopped").exists()
    assert waits == []


@pytest.mark.parametrize("failing", [False, True])
def test_a_stack_waits_for_the_others_that_use_it(
    folder: Path, using: threading.Event, failing: bool
) -> None:
    waits: list[bool] = []

    def waiting() -> None:
        waits.append((folder / "stopped").exists())
        using.set()

    def run() -> None:
        with background_stack(folder, waiting=waiting):
            if failing:
                raise ValueError("refused")

    if failing:
        with pytest.raises(ValueError, match="refused"):
            run()
    else:
        run()
    assert waits == [False], "it said so once, and had not stopped"
    assert (folder / "stopped").exists()


def test_an_interrupted_command_stops_its_stack_whoever_uses_it(folder: Path) -> None:
    with used_stack(folder):
        with pytest.raises(KeyboardInterrupt), background_stack(folder):
            raise KeyboardInterrupt
        assert (folder / "stopped").exists()


def test_a_command_that_comes_while_a_stack_stops_waits_for_its_end(
    folder: Path, using: threading.Event
) -> None:
    """It asks for its turn before the first is done, so it either keeps the stack or finds it stopped; never one that is stopping."""
    seen: list[bool] = []

    def use() -> None:
        with used_stack(folder):
            before = (folder / "stopped").exists()
            time.sleep(0.4)
            seen.append(before == (folder / "stopped").exists())

    late = threading.Thread(target=use)

    def waiting() -> None:
        late.start()
        using.set()

    with background_stack(folder, waiting=waiting):
        pass
    late.join(SECONDS)
    assert seen == [True]
