"""Leftovers of an earlier run: a process named by a stale pid file, a socket folder."""

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from understudy.embedded.errors import FolderUnusable

LONGEST_SOCKET_PATH = 107
LONGEST_SOCKET_NAME = "/.s.PGSQL.5432"
PRIVATE = 0o700


def end_leftover(pid_file: Path, *, program: str, signals: Sequence[int], seconds_each: float = 15.0) -> None:
    """Wait for, then end, a server of an earlier run that still works on our files.

    Process ids are used again, after a restart of a container even soon, so the process counts only if it runs
    the named program inside the folder of the pid file.

    Args:
        pid_file: its first line is the process id; need not exist.
        program: file name of the program.
        signals: from gentle to hard; the next is sent if one did not end the process in time.
        seconds_each: time to wait after each signal.
    """
    pid = _pid_in(pid_file)
    for number in signals:
        if pid is None or not runs(pid, program=program, under=pid_file.parent):
            return
        os.kill(pid, number)
        deadline = time.monotonic() + seconds_each
        while time.monotonic() < deadline and runs(pid, program=program, under=pid_file.parent):
            time.sleep(0.05)


def _pid_in(pid_file: Path) -> int | None:
    if not pid_file.exists():
        return None
    first = pid_file.read_text().partition("\n")[0].strip()
    return int(first) if first.isdigit() and int(first) > 1 else None


def runs(pid: int, *, program: str, under: Path) -> bool:
    """Return whether a live process runs a program whose command line names a folder."""
    process = Path("/proc") / str(pid)
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        words = (process / "cmdline").read_bytes()
    except OSError:
        return False
    return state != "Z" and program.encode() in words.partition(b"\0")[0] and os.fsencode(under) in words


def socket_folder(data_folder: Path) -> Path:
    """Return the folder for unix sockets: inside the data folder, or a private short one when that path is too long.

    The short one is derived from the data folder, so that a second start finds and reuses it.

    Raises:
        FolderUnusable: if another user already made a folder of the short name.
    """
    inside = data_folder / "run"
    if len(os.fsencode(inside)) + len(LONGEST_SOCKET_NAME) <= LONGEST_SOCKET_PATH:
        inside.mkdir(mode=PRIVATE, exist_ok=True)
        return inside
    mark = hashlib.sha256(os.fsencode(data_folder)).hexdigest()[:12]
    short = Path(tempfile.gettempdir()) / f"understudy-{os.getuid()}-{mark}"
    if len(os.fsencode(short)) + len(LONGEST_SOCKET_NAME) > LONGEST_SOCKET_PATH:
        short = Path("/tmp") / short.name  # noqa: S108 - checked below for owner and mode
    short.mkdir(mode=PRIVATE, exist_ok=True)
    found = short.lstat()
    if (
        not stat.S_ISDIR(found.st_mode)
        or found.st_uid != os.getuid()
        or stat.S_IMODE(found.st_mode) != PRIVATE
    ):
        message = (
            f"{short} exists and is not a private folder of this user; remove it or use a shorter data folder"
        )
        raise FolderUnusable(message)
    return short
