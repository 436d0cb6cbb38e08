"""Knowing that the process was told to stop while answers are still open.

Servers wait for open answers before they tell the application anything, so an answer without end would hold up every
stop until it is cut. The server's own signal handlers stay in charge; ours runs before them.
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
    """Call ``notify`` on the event loop when the process is told to stop.

    Does nothing where the process has no handler to stay in charge, and outside of the main thread, which alone
    receives signals.

    Args:
        notify: Ends what has no end by itself.
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
