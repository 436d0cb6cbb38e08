"""The processes of one drill, found through /proc: by descent, and by a mark in their environment after they lost it."""

import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.system.processes import Process, descendants, look

MARK = "UNDERSTUDY_DRILL_MARK"
ROLES = {
    "api": "uvicorn",
    "worker": "celery",
    "reports": "--queues reports",
    "upkeep": "workers.upkeep",
    "redis": "valkey-server",
    "postgres": "bin/postgres",
}
RUNNER = "workers.runner"


def words_of(process: Process) -> str:
    """The command line; empty when the process is gone."""
    try:
        return process.name
    except OSError:
        return ""


def marked(mark: str) -> list[Process]:
    """Every live process whose environment carries the mark of this drill, whoever its parent is."""
    sought = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if sought in (entry / "environ").read_bytes():
                    process = look(int(entry.name))
                    if process is not None and process.state != "Z":
                        found.append(process)
    return found


def role(family: Iterable[Process], name: str) -> Process | None:
    """The first process of a role; a server's own helpers and a worker's pool come after it."""
    others = ROLES["reports"] if name == "worker" else None
    return next(
        (
            process
            for process in family
            if ROLES[name] in (words := words_of(process)) and (others is None or others not in words)
        ),
        None,
    )


def live(ancestor: int) -> list[Process]:
    """Everything below a process that still runs."""
    return [process for process in descendants(ancestor) if process.state != "Z"]


def pool_of(worker: Process) -> Process | None:
    """The pool process of a worker: the one that claims, beats and publishes."""
    return next((process for process in live(worker.pid) if RUNNER not in words_of(process)), None)


def runner_of(worker: Process, *, work: str = "train") -> Process | None:
    """The child of a worker that does this kind of work: one that trains names none."""
    for process in live(worker.pid):
        words = words_of(process)
        if RUNNER in words and (f"--work {work}" in words or (work == "train" and "--work" not in words)):
            return process
    return None


def send(process: Process, number: int) -> bool:
    """Send a signal; False when the process was gone already."""
    if not process.lives():
        return False
    with suppress(ProcessLookupError):
        os.kill(process.pid, number)
        return True
    return False


def kill_all(processes: Iterable[Process]) -> None:
    """kill -9, with whatever was frozen."""
    for process in processes:
        send(process, signal.SIGKILL)


def limit_files(processes: Iterable[Process], limit: int) -> None:
    """Let no process write beyond a size: what a full disk does to it, without a disk to fill."""
    for process in processes:
        with suppress(OSError, ProcessLookupError):
            _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            soft = hard if limit < 0 else limit
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (soft, hard))


def wait_until(condition: Callable[[], object], *, seconds: float, look_seconds: float = 0.05) -> bool:
    """Look again and again until something holds; False when it did not in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(look_seconds)
    return True


def looks(seconds: float, *, every: float = 0.05) -> Iterator[None]:
    """Give control now and then for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(every)
