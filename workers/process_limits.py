"""Limits of a process that holds private rows, set by Linux system calls.

A child must not outlive the task that watches it, must not leave a core dump, must not be readable by other processes of
the same user through ``/proc`` or a debugger, and must not allocate more memory than the operator allows.
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

    The kernel watches from now on; a parent that died earlier is noticed by its changed process id.

    Args:
        parent: The parent's own process id.

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
    """Make allocations beyond a limit fail in this process.

    Args:
        limit: Bytes of private writable memory.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def fall_silent() -> TextIO:
    """Redirect standard output and error to /dev/null, also for libraries written in C.

    Returns:
        The former standard error, for events that hold no text of a library.
    """
    events = os.fdopen(os.dup(2), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return events
