"""Worker and upkeep as an operator starts them, and what hangs below them."""

import subprocess
import sys
from pathlib import Path

from core.platform.settings import Settings
from tests.workers.support import environment_of

ROOT = Path(__file__).parents[2]


def start_worker(settings: Settings, log: Path) -> subprocess.Popen[bytes]:
    words = ["-m", "celery", "-A", "workers.app", "worker", "--pool", "prefork", "--concurrency", "1"]
    quiet = ["--loglevel", "WARNING", "--without-gossip", "--without-mingle"]
    return _start(settings, [*words, *quiet], log)


def start_upkeep(settings: Settings, log: Path) -> subprocess.Popen[bytes]:
    return _start(settings, ["-m", "workers.upkeep"], log)


def _start(settings: Settings, words: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as sink:
        return subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=environment_of(settings), stdout=sink, stderr=sink
        )


def below(pid: int) -> list[int]:
    """All live descendants of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found + [inner for child in found for inner in below(child)]


def runner_below(pid: int) -> int | None:
    """The training child below a worker."""
    for each in below(pid):
        try:
            words = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"workers.runner" in words:
            return each
    return None


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
