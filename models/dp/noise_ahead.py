"""One background thread that makes a step's noise while the step's matrix products run.

The noise of a step depends on the key, the step's number and public constants alone, never on the records: it is the
same, bit for bit, whichever thread makes it and whenever. So it is asked for as soon as the step begins, on a second
core where there is one, and fetched once the clipped sum is there. Nothing is made for a step that has not begun.

The thread touches no setting of torch. Its tensors are at most `models.randomness.PIECE` long, which torch works on
without a team of threads.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from torch import Tensor


class NoiseAhead:
    """Runs one draw at a time on a thread of its own.

    The thread starts with the first draw and ends when this object is closed or freed, at the latest with the process,
    which it does not keep alive.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="noise-ahead")
        self._drawn: Future[Tensor] | None = None

    def begin(self, draw: Callable[[], Tensor]) -> None:
        """Start a draw. One begun before and never taken, because its step failed, is finished first and forgotten.

        Args:
            draw: called once on the thread; no draw runs beside another, so draws may share buffers.
        """
        self._drawn = self._thread.submit(draw)

    def take(self) -> Tensor:
        """Wait for the draw begun last and hand it out, once.

        Raises:
            Exception: whatever the draw raised.
        """
        assert self._drawn is not None, "a draw is begun before it is taken"
        drawn, self._drawn = self._drawn, None
        return drawn.result()

    def close(self) -> None:
        """End the thread, after the draw that it may be at; no draw can be begun any more."""
        self._thread.shutdown(wait=True)
