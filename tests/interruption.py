"""A test run that is interrupted leaves no server behind: after Ctrl-C, SIGTERM, or the death of the process that started it.

Every process of a run looks after its own: what it starts carries a mark in its environment, and what still carries it when the
run ends is ended. A run whose parent is gone interrupts itself.
"""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

LOOK_SECONDS = 0.5
GRACE_SECONDS = 60.0


def mark_of(pid: int) -> str:
    """The environment variable of what a process of a run starts."""
    return f"TESTS_OF_{pid}"


def end_with_parent() -> None:
    """Turn SIGTERM into an interruption, and send it to this process when its parent dies."""
    os.environ[mark_of(os.getpid())] = "1"
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=_watch, args=[os.getppid()], daemon=True).start()


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    # Once is enough: a second one would break off the ending.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def end_what_is_left() -> None:
    """End every process that this one or one of its children started: politely, then not."""
    deadline = time.monotonic() + GRACE_SECONDS
    number = signal.SIGTERM
    told: set[int] = set()
    while left := _marked(mark_of(os.getpid())):
        if time.monotonic() > deadline:
            number, told = signal.SIGKILL, set()
        for pid in left - told:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        told |= left
        time.sleep(0.05)


def _marked(mark: str) -> set[int]:
    """Live processes whose environment has the mark, but for this one."""
    sought = f"{mark}=".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z" and sought in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
    return found
