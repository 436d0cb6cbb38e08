"""``understudy up`` for a drill: ``python -m tests.faults.supervised DATA_FOLDER PORT ENTROPY``.

The real supervisor with two seams: the API has a known entropy (tests.faults.seam_api) where ENTROPY is `known`, and a role that died counts as
steady after a second, because a drill kills more often than a machine ever does and would wait for the pauses.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from understudy.embedded import roles, supervisor
from understudy.embedded.__main__ import stop_on_signals, write_line
from understudy.embedded.child import Command
from understudy.embedded.errors import EmbeddedError
from understudy.embedded.folder import DataFolder

STEADY_SECONDS = 1.0
real_api = roles.api


def seamed_api(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Start the API with a known entropy."""
    command = real_api(folder, environment)
    real, other = "service.asgi:app", "tests.faults.seam_api:app"
    assert real in command.arguments, "the stack starts its API in another way now"
    return replace(command, arguments=[other if each == real else each for each in command.arguments])


def main(data_folder: str, port: str, entropy: str) -> int:
    """Supervise until told to stop."""
    if entropy == "known":
        roles.api = seamed_api
    supervisor.STEADY_SECONDS = STEADY_SECONDS
    try:
        stack = supervisor.Supervisor(DataFolder.prepare(Path(data_folder)), int(port), notice=write_line)
        stop_on_signals(stack)
        stack.run(announce=lambda ready: print(json.dumps({"url": ready.url}), flush=True))
    except EmbeddedError as error:
        write_line(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
