"""Sources of coded rows for given labels: the network of a bundle, or its mixture's tables."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.artifacts.errors import BundleInvalid
from core.artifacts.manifest import TableManifest
from core.artifacts.sampling.drawing import Network
from core.artifacts.sampling.mixture_rows import MixtureRows
from core.artifacts.sampling.network_rows import NetworkRows
from core.plan.domain.codec import Codes


class RowSource(Protocol):
    """Safe to use from several threads at once.

    Attributes:
        chunk_rows: Rows to draw together.
    """

    chunk_rows: int

    def scratch(self, rows: int) -> NDArray[np.float32]:
        """Scratch memory for drawing at most `rows` rows, reused because allocating costs more than writing."""
        ...

    def draw(
        self,
        codes: Codes,
        labels: Codes,
        rng: np.random.Generator,
        scratch: NDArray[np.float32],
    ) -> None:
        """Draw codes.

        Args:
            codes: (rows, columns), the output; the target's are the labels.
            labels: (rows,) codes of the target; without a target they are zeros and ignored.
            scratch: From `scratch`; overwritten.
        """
        ...

    def draw_twice(
        self,
        codes: Codes,
        labels: Codes,
        rng: np.random.Generator,
        scratch: NDArray[np.float32],
    ) -> tuple[Codes, NDArray[np.float32]]:
        """Draw codes as `draw` does, and again from the same distributions, to balance them.

        Returns:
            The second codes (rows, columns), and the distributions (rows, cells) of both, in scratch.
        """
        ...


def row_source(network: Network, manifest: TableManifest) -> RowSource:
    """The fastest source of a bundle's rows.

    Raises:
        BundleInvalid: The network is not the one that the manifest describes.
    """
    mixture = MixtureRows.of(network, manifest)
    if mixture is None and manifest.groups is not None:
        raise BundleInvalid("The bundle's network gives no shares of codes within groups.")
    return mixture or NetworkRows(network, manifest)
