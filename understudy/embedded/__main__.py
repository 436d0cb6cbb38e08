"""Run a stack as a child of another command: ``python -m understudy.embedded DATA_FOLDER PORT``.

Writes one JSON line to standard output when the service answers, or an error to standard error and status 1.
"""

import json
import signal
import sys
from pathlib import Path
from types import FrameType

from understudy.embedded.errors import EmbeddedError
from understudy.embedded.folder import DataFolder
from understudy.embedded.supervisor import Supervisor


def main(data_folder: str, port: str) -> int:
    """Supervise until a signal asks to stop, and return the exit status; port 0 is a free one."""
    try:
        supervisor = Supervisor(DataFolder.prepare(Path(data_folder)), int(port), notice=write_line)
        stop_on_signals(supervisor)
        supervisor.run(announce=lambda ready: print(json.dumps({"url": ready.url}), flush=True))
    except EmbeddedError as error:
        write_line(str(error))
        return 1
    return 0


def stop_on_signals(supervisor: Supervisor) -> None:
    """Stop the stack cleanly on SIGINT, SIGHUP and SIGTERM.

    ``nohup`` ignores SIGHUP for its command, and it stays ignored.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        supervisor.stopping = True

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or not under_nohup():
            signal.signal(number, stop)


def under_nohup() -> bool:
    """Return whether the command was started to outlive its terminal and its parent."""
    return signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def write_line(line: str) -> None:
    """Write a line for people."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
