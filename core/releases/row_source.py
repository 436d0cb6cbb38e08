"""What draws coded rows under given labels: the network of a bundle, or the tables behind it."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.releases.drawing import Network
from core.releases.manifest import TableManifest
from core.releases.mixture_rows import MixtureRows
from core.releases.network_rows import NetworkRows


class RowSource(Protocol):
    """Safe to use from several threads at once.

    Attributes:
        chunk_rows: Rows to draw together.
    """

    chunk_rows: int

    def scratch(self, rows: int) -> NDArray[np.float32]:
        """Memory for drawing at most so many rows; fresh memory costs more than what is written to it."""
        ...

    def draw(
        self,
        codes: NDArray[np.int16],
        labels: NDArray[np.int16],
        rng: np.random.Generator,
        scratch: NDArray[np.float32],
    ) -> None:
        """Draw codes.

        Args:
            codes: (rows, columns) written; the target's are the labels.
            labels: (rows,) codes of the target; without one they are zeros, and not looked at.
            rng: Where the randomness of these rows comes from.
            scratch: As `scratch` gives it, overwritten.
        """
        ...

    def draw_twice(
        self,
        codes: NDArray[np.int16],
        labels: NDArray[np.int16],
        rng: np.random.Generator,
        scratch: NDArray[np.float32],
    ) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
        """Draw codes as `draw` does, and again from the same laws, to balance them.

        Returns:
            The second codes (rows, columns), and the laws (rows, cells) of both, in scratch.
        """
        ...


def row_source(network: Network, manifest: TableManifest) -> RowSource:
    """The fastest source of a bundle's rows.

    Raises:
        BundleInvalid: The network is not the one that the manifest describes.
    """
    return MixtureRows.of(network, manifest) or NetworkRows(network, manifest)
