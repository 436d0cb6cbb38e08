"""How a worker is told to stop: its pool processes hand back what they work on instead of being waited for or killed.

The main process tells them through a byte of memory that it shares with the processes it forks (celery's warm shutdown, at
SIGTERM), or by a SIGTERM of their own (its cold shutdown, at SIGQUIT).
"""

import mmap
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

STOP_SECONDS: Final = 0.5
"""Longest time until a process that only waits looks whether it was told to stop."""

_LEAVING: Final = mmap.mmap(-1, 1)
_signalled: Final = threading.Event()


def tell_to_stop() -> None:
    """Tell every pool process of this worker that the worker leaves."""
    _LEAVING[0] = 1


def stop_announced() -> bool:
    """Whether this process was told to stop."""
    return _LEAVING[0] == 1 or _signalled.is_set()


@contextmanager
def stop_noticed() -> Iterator[None]:
    """Have SIGTERM noted in the block instead of ending this process; only the main thread can."""
    _signalled.clear()
    former = signal.signal(signal.SIGTERM, lambda *_: _signalled.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
