"""The whole stack as a person starts it, and the command as a person runs it."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.commands import run_here
from tests.system.processes import Process, descendants
from understudy.cli import main
from understudy.connection import Connection, announced_connection
from understudy.simulation import write_table

START_SECONDS = 600.0
# A shell that runs the tests in the background ignores Ctrl-C for all that they start; a person's shell does not.
_AS_A_PERSON = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
COMMAND = [sys.executable, "-c", f"{_AS_A_PERSON}; from understudy.cli import main; main()"]
FAST = {
    "UNDERSTUDY_COMPLETION_SECONDS": "0.5",
    "UNDERSTUDY_REPORT_SLOT_SECONDS": "0.5",
    "UNDERSTUDY_LEASE_SECONDS": "4",
    "UNDERSTUDY_HEARTBEAT_SECONDS": "0.5",
    "UNDERSTUDY_CHECKPOINT_SECONDS": "1",
    # A round takes 60 ms of a processor, and nothing here waits for more than one.
    "UNDERSTUDY_UPKEEP_SECONDS": "3",
    "UNDERSTUDY_TRAINING_THREADS": "1",
    # A report after every release would only take the processors of what is tested.
    "UNDERSTUDY_OWNER_REPORTS": "ordered",
    "OMP_NUM_THREADS": "1",
}


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UNDERSTUDY_")}
    return kept | FAST


def understudy(*words: object, timeout: float = 200) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=environment(),
    )


def understudy_here(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command in this process: to start another and import everything takes a second, and no word here is about one."""

    def run() -> int:
        terminated = signal.getsignal(signal.SIGTERM)
        try:
            with patch.object(sys, "argv", ["understudy", *map(str, words)]):
                main()
        except SystemExit as end:
            return int(end.code or 0)
        finally:
            signal.signal(signal.SIGTERM, terminated)
        return 0

    return run_here(run, environment())


@dataclass
class Up:
    """A running ``understudy up``."""

    data_folder: Path
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    reader: threading.Thread = field(default_factory=threading.Thread)
    arriving: "queue.Queue[str | None]" = field(default_factory=queue.Queue)

    @classmethod
    def start(cls, data_folder: Path, **settings: str) -> "Up":
        return cls.run(
            [*COMMAND, "up", "--data-folder", str(data_folder), "--port", "0"], data_folder, **settings
        )

    @classmethod
    def run(cls, words: list[str], data_folder: Path, **settings: str) -> "Up":
        """Run words that start a stack on a folder."""
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment() | settings,
        )
        up = cls(data_folder, process)
        up.reader = threading.Thread(target=up.read, daemon=True)
        up.reader.start()
        return up

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            self.arriving.put(self.lines[-1])
        self.arriving.put(None)  # it has ended

    def wait_for(self, words: str, seconds: float = START_SECONDS) -> str:
        """Wait for a line of the output that contains these words."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self.arriving.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"no line with {words!r} in:\n" + "\n".join(self.lines))
            if words in line:
                return line

    def ready(self) -> "Up":
        self.wait_for("Ctrl-C stops it")
        return self

    @property
    def connection(self) -> Connection:
        found = announced_connection(self.data_folder)
        assert found is not None
        return found

    def family(self) -> list[Process]:
        return descendants(self.process.pid)

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.end()

    def end(self) -> int:
        """Stop it if it still runs, and read its output to the end."""
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(timeout=600)
        self.reader.join(timeout=600)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return status

    def crash(self) -> list[Process]:
        """Kill the supervisor with -9; give what descended from it."""
        family = self.family()
        self.process.kill()
        self.process.wait()
        return family


Start = Callable[[], Up]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a stack on the data folder of this test, as often as it is called; none outlives the test."""
    started: list[Up] = []

    def start_one() -> Up:
        started.append(Up.start(tmp_path / "data"))
        return started[-1].ready()

    yield start_one
    for running in started:
        running.end()


@pytest.fixture(scope="package")
def shared_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A stack that the tests which do it no harm share."""
    running = Up.start(tmp_path_factory.mktemp("shared") / "data").ready()
    yield running
    running.end()


def findings(up: Up) -> tuple[int, set[str]]:
    """What `understudy doctor` finds, but for the disk: its exit status and the codes."""
    finished = understudy_here("doctor", "--json", "--data-folder", up.data_folder)
    document = json.loads(finished.stdout)
    return finished.returncode, {finding["code"] for finding in document["findings"]} - {
        "disk-low",
        "disk-full",
    }


@dataclass(frozen=True)
class Table:
    """A small simulated table."""

    rows: Path
    domain: Path


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    rows, domain = write_table(tmp_path_factory.mktemp("table"), rows=600)
    return Table(rows, domain)
