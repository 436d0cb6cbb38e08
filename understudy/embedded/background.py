"""A stack for the duration of one command: a supervisor as a child process."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.embedded.errors import ServerFailed
from understudy.embedded.identity import AS_IS, launcher_prefix

STOP_SECONDS = 60.0


@contextmanager
def background_stack(data_folder: Path, *, port: int = 0) -> Iterator[str]:
    """Start a stack, yield its address, and stop it at the end.

    Args:
        data_folder: its data folder, made where missing.
        port: port of the API, 0 for a free one.

    Raises:
        ServerFailed: if it does not start; the message says why.
    """
    words = [sys.executable, "-m", "understudy.embedded", str(data_folder), str(port)]
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
    try:
        line = process.stdout.readline()
        if not line:
            raise ServerFailed(process.stderr.read().strip() or "the embedded stack did not start")
        yield json.loads(line)["url"]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()
