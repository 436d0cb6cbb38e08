"""How a child process that opens private rows begins and ends, whatever it works at; imports no torch.

It is told only which claim it works for; everything else comes from the claim's row and the environment's settings.
It says nothing but an exit code (workers.outcomes): standard output and error lead nowhere once it has begun, and its
own events hold no text of an exception.
"""

import argparse
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from uuid import UUID

import structlog

from core.logs import configure_logs, get_logger
from core.settings import Settings, read_settings
from workers.attempt import AttemptEnded
from workers.lifeline import close_side_doors, die_with_parent, fall_silent
from workers.outcomes import ExitCode

Attempt = Callable[[Settings, UUID, int], None]
"""Works under a claim: settings, the id of what is claimed, the claim's fence. Raises AttemptEnded to go no further."""


def run_child(words: Sequence[str], attempt: Attempt, *, program: str, claimed: str) -> ExitCode:
    """Run one attempt in this process, which is then of no further use.

    Args:
        words: The command line without the program.
        attempt: What is done.
        program: The module that was started.
        claimed: What its first argument is called, such as job_id.
    """
    told = _arguments(words, program, claimed)
    identity: UUID = getattr(told, claimed)
    die_with_parent(told.parent)
    close_side_doors()
    with redirect_stderr(fall_silent()):
        configure_logs(role="runner")
    structlog.contextvars.bind_contextvars(**{claimed: str(identity)}, fence=told.fence)
    try:
        attempt(read_settings(), identity, told.fence)
    except AttemptEnded as end:
        if end.code is not ExitCode.DATA:
            get_logger().info("attempt-stopped", code=end.code.name)
        return end.code
    except Exception:  # noqa: BLE001 - no row was open: whatever it is, it is public, but its text is still not ours
        get_logger().error("attempt-broke-off", exc_info=True)
        return ExitCode.MACHINERY
    return ExitCode.DONE


def _arguments(words: Sequence[str], program: str, claimed: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=program, description="Runs one claimed attempt.")
    parser.add_argument(claimed, type=UUID)
    parser.add_argument("fence", type=int)
    parser.add_argument("--parent", type=int, required=True, help="process that watches this one")
    return parser.parse_args(words)
