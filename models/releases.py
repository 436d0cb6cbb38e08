"""The seam that every noisy release of a job passes on its way out of the private rows.

The code that adds noise calls a `ReleaseRecorder` twice: first with the exact values and the noise they will get, then
with the noisy result. In a job the recorder writes what its certificate quotes (`models.release_recorder`). A replay test
records one job and repeats it on a neighbouring table: it measures how far the exact values moved in units of their
noise, and puts the recorded outputs back, so that everything after them must be the same to the byte (shared design of
the privacy proofs, section 6.2).
"""

from collections.abc import Iterable
from typing import Protocol

from torch import Tensor


class ReleaseRecorder(Protocol):
    """Sees every release of a job. A release is identified as its noise is: by purpose and step."""

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        """Receive the exact values before noise is added to them.

        Args:
            parts: exact values with the standard deviation of the noise of each of their coordinates. Private; made
                only when iterated, so that ignoring them costs nothing.
            sensitivity: the most that one privacy unit more or less can move all parts together, each coordinate in
                units of its noise's standard deviation (L2). Public. It is stated from what bounds the values here
                (thresholds, weights of cells) and not copied from the plan, so that a recorder can compare the two.
        """

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        """See the noisy result that everything afterwards uses; may overwrite it in place."""


class NullRecorder:
    """Records nothing."""

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        """Leave the private values alone."""

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        """Leave the release as it is."""
