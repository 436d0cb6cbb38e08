"""Two listeners at one seam: the test's, and the job's own."""

from collections.abc import Iterable

from torch import Tensor

from models.releases import NullRecorder, ReleaseRecorder


class Both:
    """Tells the first listener, which may overwrite releases, and then the second.

    Args:
        first: The test's.
        second: The job's, or None if it has none.
    """

    def __init__(self, first: ReleaseRecorder, second: ReleaseRecorder | None) -> None:
        self._each = (first, second or NullRecorder())

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        values = tuple(parts)
        for listener in self._each:
            listener.exact(purpose, step, values, sensitivity=sensitivity)

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        for listener in self._each:
            listener.noisy(purpose, step, *released)
