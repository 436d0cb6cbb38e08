"""A background thread that draws a step's noise while the step's matrix products run.

The noise of a step depends on the key, the step's number and public constants, never on the records: its bits are the
same whichever thread draws it, and when. So it is requested when the step begins, on a second core if there is one, and
fetched once the clipped sum is ready. Nothing is drawn for a step that has not begun.

The thread changes no setting of torch. Its tensors have at most `models.randomness.PIECE` numbers, which torch processes
in one thread.
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
        """Start a draw. An earlier draw that was never taken, because its step failed, is finished first and discarded.

        Args:
            draw: called once on the thread; draws never overlap, so they may share buffers.
        """
        self._drawn = self._thread.submit(draw)

    def take(self) -> Tensor:
        """Wait for the latest draw and return it, once.

        Raises:
            Exception: whatever the draw raised.
        """
        assert self._drawn is not None, "a draw is begun before it is taken"
        drawn, self._drawn = self._drawn, None
        return drawn.result()

    def close(self) -> None:
        """End the thread after its current draw; no draw can be started afterwards."""
        self._thread.shutdown(wait=True)
