"""Detects termination signals while responses are still open.

Servers wait for open responses before they notify the application, so an endless response would delay every shutdown
until it is cut. The server's own signal handlers stay in charge; ours runs before them.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def on_termination(notify: Callable[[], None]) -> Iterator[None]:
    """Call ``notify`` on the event loop when the process receives a termination signal.

    Does nothing if no signal handler is installed, or outside the main thread, since only the main thread receives
    signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    earlier = {number: signal.getsignal(number) for number in _SIGNALS}

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(notify)
        handler = earlier[signal.Signals(number)]
        assert callable(handler)
        handler(number, frame)

    chained = [number for number in _SIGNALS if callable(earlier[number])]
    for number in chained:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in chained:
            signal.signal(number, earlier[number])
