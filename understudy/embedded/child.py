"""A child process that dies with its parent, has its own process group, and writes its own log."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from understudy.embedded.identity import AS_IS, launcher_prefix

LOG_LIMIT_BYTES = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command to run, and how to end it.

    Attributes:
        name: short name for messages and the log file.
        arguments: program and arguments; no shell reads them.
        log: file that receives standard output and error.
        environment: the whole environment of the child.
        stop_signal: asks the child to end cleanly.
        death_signal: sent by the kernel when this process dies, however it dies.
        identity: one of the launcher's identities.
        grace_seconds: time between the clean and the hard end.
        folder: working folder, or None for the present one.
    """

    name: str
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGTERM
    identity: str = AS_IS
    grace_seconds: float = 10.0
    folder: Path | None = None


class Child:
    """A started command. Start it from a thread that lives as long as the child should: the kernel's death signal follows the thread."""

    def __init__(self, command: Command) -> None:
        """Start the command in a session of its own, so that the terminal's Ctrl-C reaches only this process."""
        self.command = command
        rotate(command.log)
        words = [
            *launcher_prefix(death_signal=command.death_signal, identity=command.identity),
            *command.arguments,
        ]
        with command.log.open("ab") as log:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(command.environment),
                cwd=command.folder,
                start_new_session=True,
            )
        self.started_seconds = time.monotonic()

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """Exit status once it has ended (minus the signal number if a signal ended it), else None."""
        return self._process.poll()

    def signal(self, number: int) -> None:
        """Send a signal to the child alone, unless it has ended."""
        if self.exit_status is None:
            self._process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        """Wait for the end; True if it ended within the time."""
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> int:
        """End the child cleanly, or by SIGKILL after its grace time, then kill what is left of its group. Return the exit status."""
        self.signal(self.command.stop_signal)
        self.wait(self.command.grace_seconds)
        self.kill_group()
        return self._process.wait()

    def kill_group(self) -> None:
        """Kill whatever is left in the child's process group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return


def rotate(log: Path) -> None:
    """Rotate a log that has grown past the limit; one older log is kept."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".log.1"))


def log_tail(log: Path, lines: int = 8) -> str:
    """Return the last lines of a log, which need not exist, for a message to the person who started the stack."""
    if not log.exists():
        return "(no log)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) or "(the log is empty)"
