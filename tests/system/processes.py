"""Looking at processes through /proc: who descends from whom, and who still lives."""

import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """One process; its start time tells it from a later one with the same id."""

    pid: int
    parent: int
    started: str
    state: str

    @property
    def name(self) -> str:
        return (
            (Path("/proc") / str(self.pid) / "cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode(errors="replace")
        )

    def lives(self) -> bool:
        now = look(self.pid)
        return now is not None and now.started == self.started and now.state != "Z"


def look(pid: int) -> Process | None:
    try:
        fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return Process(pid=pid, parent=int(fields[1]), started=fields[19], state=fields[0])


def descendants(ancestor: int) -> list[Process]:
    everybody = [look(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    by_parent: dict[int, list[Process]] = {}
    for process in everybody:
        if process is not None:
            by_parent.setdefault(process.parent, []).append(process)
    found, waiting = [], [ancestor]
    while waiting:
        children = by_parent.get(waiting.pop(), [])
        found += children
        waiting += [child.pid for child in children]
    return found


def named(processes: list[Process], word: str) -> Process:
    """The first process whose words contain one: parents come before their children."""
    return next(process for process in processes if word in process.name)


def await_end_of(processes: list[Process], seconds: float) -> list[str]:
    """Wait for the end of all; give the names of those that are left."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(process.lives() for process in processes):
        time.sleep(0.05)
    return [process.name for process in processes if process.lives()]
