"""Seconds from kill -9 of everything to the job running again, on the embedded stack as a person has it.

    python -m benchmarks.service.recovery [--save]

A long training of simulated rows is under way, with every setting at its default (the lease is 60 s). Then every
process of the stack is killed with -9, the supervisor first, and `understudy up` is started again at once. Measured
from the kill: until the API answers, until a worker has claimed the job again, and until the new attempt has written
its first progress mark, which it does before it touches rows: the job then runs again.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import RESULTS
from understudy.connection import running_connection
from understudy.embedded.folder import DataFolder
from understudy.embedded.postgres import PostgresServer
from understudy.simulation import write_table

RESULT = RESULTS / "recovery.json"
BAR_SECONDS = 30.0
KILLS = 4  # with the first, as many claims as a job has attempts
PATIENCE_SECONDS = 240.0
LOOK_SECONDS = 0.02
COMMAND = [sys.executable, "-c", "from understudy.cli import main; main()"]
LONG = ("steps=500000", "pretraining_steps=20")
SMALL = (
    "critic_width=16",
    "critic_steps=1",
    "generator_width=16",
    "generator_batch_size=16",
    "latent_dimension=4",
)


def environment() -> dict[str, str]:
    """Ours without settings, so that the stack has the defaults."""
    return {name: value for name, value in os.environ.items() if not name.startswith("UNDERSTUDY_")}


def understudy(*words: object) -> "subprocess.Popen[str]":
    """Start the command as a person does."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
    )


def await_line(process: "subprocess.Popen[str]", *words: str) -> None:
    """Read the output until a line begins with one of these words.

    Raises:
        RuntimeError: the output ended before.
    """
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith(words):
            return
    raise RuntimeError("".join(said[-20:]))


class Site:
    """One data folder and the stack on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._up = self.start()
        await_line(self._up, "Ctrl-C stops it")

    def start(self) -> "subprocess.Popen[str]":
        """Start the stack, without waiting for it."""
        return understudy("up", "--data-folder", self.folder, "--port", 0)

    def begin(self, table: Path, domain: Path, out: Path) -> None:
        """Have a long training ordered, and go when it is under way."""
        options = [part for option in (*SMALL, *LONG) for part in ("--set", option)]
        words = ["--epsilon", 1, "--delta", 1e-6, "--out", out, "--data-folder", self.folder, *options]
        person = understudy("publish", table, "--domain", domain, *words)
        await_line(person, "pretrain", "train")
        # Not a Ctrl-C, which would cancel the job.
        person.kill()
        person.wait()

    def job(self) -> tuple[int, str | None, int] | None:
        """Fence, stage and step of the job; None while the database is away."""
        with suppress(OSError, psycopg.Error):
            folder = DataFolder(self.folder)
            server = PostgresServer(
                self.folder / "postgres", run_folder=folder.run_folder, log=folder.log("postgres")
            )
            address = server.url().replace("postgresql+psycopg", "postgresql")
            with psycopg.connect(address, connect_timeout=2) as connection:
                return connection.execute("SELECT fence, stage, step FROM jobs").fetchone()
        return None

    def kill(self) -> None:
        """Send kill -9 to the supervisor and to everything below it."""
        family = [self._up.pid, *below(self._up.pid)]
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._up.wait()

    def recover(self) -> dict[str, float]:
        """Kill everything, start again, and wait until the job runs; seconds since the kill."""
        before = self.job()
        assert before is not None, "the database answered a moment ago"
        began = time.perf_counter()
        self.kill()
        self._up = self.start()
        reached: dict[str, float] = {}
        while "running_seconds" not in reached:
            now = time.perf_counter() - began
            if now > PATIENCE_SECONDS:
                message = f"the job does not run again: {self.job()}"
                raise RuntimeError(message)
            job = self.job()
            if job is not None and job[0] > before[0]:
                reached.setdefault("claimed_seconds", now)
                if job[1:] != before[1:]:
                    reached["running_seconds"] = now
            if "answers_seconds" not in reached and running_connection(self.folder) is not None:
                reached["answers_seconds"] = now
            time.sleep(LOOK_SECONDS)
        return {name: round(seconds, 1) for name, seconds in reached.items()}

    def await_steps(self) -> None:
        """Let the attempt come some way, so that it has something to resume."""
        first = self.job()
        end = time.monotonic() + PATIENCE_SECONDS
        while (now := self.job()) is None or first is None or now[2] < first[2] + 200:
            assert time.monotonic() < end, "the training stands still"
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop the stack."""
        self._up.terminate()
        self._up.communicate()


def below(pid: int) -> list[int]:
    """All descendants of a process."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for ancestor in found:
        found += [child for child, parent in parents.items() if parent == ancestor]
    return found[1:]


def measure(kills: int) -> list[dict[str, float]]:
    """Recover a number of times."""
    with tempfile.TemporaryDirectory(prefix="recovery-") as folder:
        table, domain = write_table(Path(folder), rows=2000)
        site = Site(Path(folder) / "data")
        try:
            site.begin(table, domain, Path(folder) / "out")
            runs = []
            for _ in range(kills):
                site.await_steps()
                runs.append(site.recover())
                print(json.dumps(runs[-1]), flush=True)
            return runs
        finally:
            site.stop()


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--kills", type=int, default=KILLS)
    wanted = parser.parse_args()
    before = load_average()
    runs = measure(wanted.kills)
    running = [run["running_seconds"] for run in runs]
    result: dict[str, Any] = {
        "runs": runs,
        "median_seconds": round(statistics.median(running), 1),
        "slowest_seconds": max(running),
        "bar_seconds": BAR_SECONDS,
        "holds": max(running) < BAR_SECONDS,
        "load_average_before": before,
        "load_average": load_average(),
        "machine": machine_facts(packages=("celery", "psycopg", "torch")),
    }
    print(json.dumps(result, indent=2))
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
