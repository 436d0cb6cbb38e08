"""The child process: `python -m workers.runner ID FENCE --parent PID --work NAME`.

Only these children open private rows. The command line names the claim and the kind of work; everything else comes from the
claim's row and the environment's settings. A child reports nothing but an exit code (workers.child): its standard output
and error are discarded once it has begun, and its own events hold no text of an exception.

Each kind of work is a module of its own with a function `run`, imported by the child that does it: only trainings need
torch. This module imports neither torch nor what opens rows.
"""

import argparse
import gc
import sys
from collections.abc import Sequence
from contextlib import closing, redirect_stderr
from importlib import import_module
from typing import Final, Protocol
from uuid import UUID

import structlog

from core.data.objects import ObjectStore, open_store
from core.db.session import Database
from core.logs import configure_logs, get_logger
from core.platform.settings import Settings, read_settings
from workers.child import (
    AttemptEnded,
    ExitCode,
    WorkName,
    close_side_doors,
    die_with_parent,
    fall_silent,
)

_MODULES: Final[dict[WorkName, str]] = {
    "train": "workers.training_child",  # trains a generator, or measures a utility report
    "count": "workers.shared_counting",  # helps a training to count
    "compare": "workers.owner_report_child",  # makes an owner report
}
_NAMES_IN_LOGS: Final[dict[WorkName, str]] = {"train": "job_id", "count": "job_id", "compare": "report_id"}


class Work(Protocol):
    """The work of a child on its claim. It limits its own memory before it opens rows."""

    def __call__(
        self, settings: Settings, *, database: Database, store: ObjectStore, claimed: UUID, fence: int
    ) -> None:
        """Work under the claim of a job or report.

        Raises:
            AttemptEnded: Why it went no further.
        """


def main(words: Sequence[str]) -> ExitCode:
    """Run one attempt in this process, which is then of no further use."""
    parser = argparse.ArgumentParser(prog="workers.runner", description="Runs one claimed attempt.")
    parser.add_argument("claimed", type=UUID, metavar="ID", help="the claimed job or report")
    parser.add_argument("fence", type=int)
    parser.add_argument("--parent", type=int, required=True, help="process that watches this one")
    parser.add_argument("--work", choices=_MODULES, required=True, help="what is done")
    arguments = parser.parse_args(words)
    die_with_parent(arguments.parent)
    close_side_doors()
    # Nothing that is imported becomes garbage, and searching for it takes a fifth of the time.
    gc.disable()
    # A module that cannot be imported ends the child with a traceback: no row is open.
    work: Work = import_module(_MODULES[arguments.work]).run
    gc.freeze()
    gc.enable()
    with redirect_stderr(fall_silent()):
        configure_logs(role="runner")
    structlog.contextvars.bind_contextvars(
        **{_NAMES_IN_LOGS[arguments.work]: str(arguments.claimed)}, fence=arguments.fence
    )
    try:
        settings = read_settings()
        with closing(Database(settings.database_url, pool_size=1, max_overflow=1)) as database:
            store = open_store(settings.storage_url)
            work(settings, database=database, store=store, claimed=arguments.claimed, fence=arguments.fence)
    except AttemptEnded as end:
        if end.code is not ExitCode.DATA:
            get_logger().info("attempt-stopped", code=end.code.name)
        return end.code
    except Exception:  # noqa: BLE001 - no row was open, so the class of the error is public; its text is still not logged
        get_logger().error("attempt-broke-off", exc_info=True)
        return ExitCode.MACHINERY
    return ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
