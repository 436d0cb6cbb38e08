"""Ctrl-C, SIGTERM and the death of the parent end a test run, or a stack, with everything it started."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.system.conftest import COMMAND, environment
from tests.system.interrupted import READY
from tests.system.processes import await_end_of, descendants, look

PARENT = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
child = subprocess.Popen(sys.argv[1:])
signal.signal(signal.SIGINT, signal.SIG_IGN)
child.wait()
"""
"""What a shell or make is to the command: a parent in its process group that waits for it. Under nohup it would outlive it."""
PATIENCE = 120.0


def with_parent(words, **further):
    """Start a command as the child of another process."""
    return subprocess.Popen([sys.executable, "-c", PARENT, *words], start_new_session=True, **further)


def interrupt(parent, how):
    """Do what a person, an operator or the kernel does."""
    if how == "ctrl-c":
        os.killpg(parent.pid, signal.SIGINT)
    elif how == "sigterm":
        (child,) = [each for each in descendants(parent.pid) if each.parent == parent.pid]
        os.kill(child.pid, signal.SIGTERM)
    else:
        parent.kill()


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("ctrl-c", marks=pytest.mark.long),
        pytest.param("sigterm", marks=pytest.mark.long),
        "death of the parent",
    ],
)
def test_an_interrupted_test_run_leaves_nothing_behind(how, tmp_path):
    run = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "1",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",
        "--basetemp",
        str(tmp_path / "run"),
    ]
    run += ["-o", "python_files=interrupted.py", "tests/system/interrupted.py"]
    ready = tmp_path / "ready"
    with (tmp_path / "log").open("wb") as log:
        parent = with_parent(run, stdout=log, stderr=log, env=os.environ | {READY: str(ready)})
    end = time.monotonic() + PATIENCE
    while not ready.exists():
        assert parent.poll() is None, (tmp_path / "log").read_text()
        assert time.monotonic() < end, (tmp_path / "log").read_text()
        time.sleep(0.05)
    started = [look(pid) for pid in json.loads(ready.read_text())]
    assert all(started)
    interrupt(parent, how)
    parent.wait(timeout=PATIENCE)
    assert not await_end_of(started, PATIENCE), (tmp_path / "log").read_text()


@pytest.mark.system
@pytest.mark.long
def test_a_stack_whose_parent_dies_stops(tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as sink:
        words = [*COMMAND, "up", "--data-folder", str(tmp_path / "data"), "--port", "0"]
        parent = with_parent(words, stdout=sink, stderr=sink, env=environment())
    end = time.monotonic() + PATIENCE
    while "Ctrl-C stops it" not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)
    family = descendants(parent.pid)
    assert len(family) > 5, "supervisor, Postgres, Redis, API, worker, upkeep"
    parent.kill()
    parent.wait()
    assert not await_end_of(family, PATIENCE), log.read_text()
    assert log.read_text().rstrip().endswith("Stopped.")
