"""The seam that every noisy release of a job passes on its way out of the private rows.

Whoever adds noise hands over, first, what is about to be noised and by how much, and then what comes out. In a job
nothing listens. A test that records one job and replays it on a neighbouring table listens to both: it measures how
far the exact values moved in units of their noise, and puts the recorded outputs back, so that everything after them
must be the same to the byte (shared design of the privacy proofs, section 6.2).
"""

from collections.abc import Iterable
from typing import Protocol

from torch import Tensor


class Releases(Protocol):
    """Listens at the seam. A release is named like its noise: by purpose and step."""

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        """Meet what is about to be noised.

        Args:
            purpose: what the noise is for.
            step: the step it belongs to.
            parts: exact values with the standard deviation of the noise of each of their coordinates. Private; made
                only when iterated, so that not listening costs nothing.
            sensitivity: how far one privacy unit more or less may move all parts together, each coordinate in units
                of its noise's standard deviation (L2). Public; stated from what bounds the values here (thresholds,
                weights of cells), not copied from the plan, so that a listener can compare it with the plan.
        """

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        """Meet what everything after this will see; may overwrite it in place."""


class Unheard:
    """Nobody listens. In a job `models.recording.Record` does, for the certificate."""

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], *, sensitivity: float
    ) -> None:
        """Leave the private values alone."""

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        """Leave the release as it is."""
