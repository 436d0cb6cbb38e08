"""What a process leaves behind when it crashes: nothing, if it holds rows or keys."""

import resource


def leave_no_core() -> None:
    """Forbid core dumps, to this process and to all that it starts: they are its memory, written to a file in the clear.

    The API has rows of an upload in memory, the worker unwrapped keys, the training child both.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
