"""``understudy up`` for a drill: ``python -m tests.faults.supervised DATA_FOLDER PORT``.

The real supervisor with three seams: the API has a known entropy (tests.faults.seam_api), the worker's child does
without the slow export (tests.faults.seam_worker), and a role that died counts as steady after a second, because a
drill kills more often than a machine ever does and would wait for the pauses.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from understudy.embedded import roles, supervisor
from understudy.embedded.__main__ import stop_on_signals, tell
from understudy.embedded.child import Command
from understudy.embedded.errors import EmbeddedError
from understudy.embedded.folder import DataFolder

STEADY_SECONDS = 1.0
real_api, real_worker = roles.api, roles.worker


def seamed_api(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Start the API with a known entropy."""
    return _with(real_api(folder, environment), "service.asgi:app", "tests.faults.seam_api:app")


def seamed_worker(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Start the worker with a quick child."""
    return _with(real_worker(folder, environment), "workers.app", "tests.faults.seam_worker")


def _with(command: Command, word: str, other: str) -> Command:
    assert word in command.arguments, "the stack starts its roles in another way now"
    return replace(command, arguments=[other if each == word else each for each in command.arguments])


def main(data_folder: str, port: str) -> int:
    """Supervise until told to stop."""
    roles.api, roles.worker = seamed_api, seamed_worker
    supervisor.STEADY_SECONDS = STEADY_SECONDS
    try:
        stack = supervisor.Supervisor(DataFolder.prepare(Path(data_folder)), int(port), notice=tell)
        stop_on_signals(stack)
        stack.run(announce=lambda ready: print(json.dumps({"url": ready.url}), flush=True))
    except EmbeddedError as error:
        tell(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
