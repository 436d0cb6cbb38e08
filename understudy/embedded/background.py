"""A stack for the duration of one command: a supervisor as a child process.

Other commands find the stack by its announcement and use it too. It stops after the last of them: each holds a shared lock on a
file of the data folder, and the command that started the stack takes the exclusive lock before stopping it.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from understudy.embedded.errors import ServerFailed
from understudy.embedded.identity import AS_IS, launcher_prefix

STOP_SECONDS = 60.0


@contextmanager
def used_stack(data_folder: Path) -> Iterator[None]:
    """Keep the stack of a folder, whoever started it, from stopping inside the block. If it is stopping already, wait until it has."""
    with _users_lock(data_folder) as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


@contextmanager
def background_stack(data_folder: Path, *, waiting: Callable[[], None] = lambda: None) -> Iterator[str]:
    """Start a stack on a free port, yield its address, and stop it at the end; not before other commands are done with it, unless interrupted.

    Args:
        data_folder: its data folder, made where missing.
        waiting: called if other commands use the stack at the end.

    Raises:
        ServerFailed: if it does not start; the message says why.
    """
    words = [sys.executable, "-m", "understudy.embedded", str(data_folder), "0"]
    process = subprocess.Popen(
        [*launcher_prefix(death_signal=signal.SIGTERM, identity=AS_IS), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with ExitStack() as held:
        try:
            line = process.stdout.readline()
            if not line:
                raise ServerFailed(process.stderr.read().strip() or "the embedded stack did not start")
            try:
                yield json.loads(line)["url"]
            finally:
                if not isinstance(sys.exception(), KeyboardInterrupt):
                    held.enter_context(_nobody_using(data_folder, waiting))
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
            process.stderr.close()


@contextmanager
def _nobody_using(data_folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Wait for all who use the stack; later users wait for the end of the block."""
    with _users_lock(data_folder) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _users_lock(data_folder: Path) -> Iterator[int]:
    """The open lock file of the commands that use a stack; closing it releases the lock."""
    descriptor = os.open(data_folder / "users.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
