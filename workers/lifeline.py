"""What ties a process to its parent and closes its side doors, by Linux system calls.

A training child holds private rows in memory. It must not outlive the task that watches it, must not leave a core
dump, and must not be readable through ``/proc`` or a debugger by other processes of the same user.
"""

import ctypes
import os
import resource
import signal
import sys
from typing import Final, TextIO

from core.crashes import leave_no_core

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4


def _prctl(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies.

    The request holds from now on; a parent that died before it was made is noticed by its changed process id.

    Args:
        parent: Process id of the parent, as the parent itself knows it.

    Raises:
        SystemExit: The parent is already gone.
        OSError: The kernel refused.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def close_side_doors() -> None:
    """Forbid core dumps, debuggers and reading this process's memory or environment through /proc.

    Raises:
        OSError: The kernel refused.
    """
    leave_no_core()
    _prctl(_PR_SET_DUMPABLE, 0)


def limit_memory(limit: int) -> None:
    """Let allocations beyond a size fail in this process.

    Args:
        limit: Bytes of private writable memory.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def fall_silent() -> TextIO:
    """Lead standard output and error nowhere, also for libraries written in C.

    Returns:
        The former standard error, for events that hold no text of a library.
    """
    events = os.fdopen(os.dup(2), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return events
