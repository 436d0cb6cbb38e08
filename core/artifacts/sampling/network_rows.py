"""Codes from any network of a table: one latent vector per row, and a draw from the softmax of its logits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.artifacts.manifest import TableManifest
from core.artifacts.sampling.balanced_sampling import normalise
from core.artifacts.sampling.drawing import Network
from core.artifacts.sampling.inversion import draw_codes, standard_normals
from core.plan.domain.codec import Codes

CHUNK_ROWS = 4096
"""Rows whose codes are drawn together: enough to amortise the fixed cost of a vectorised operation."""
CHUNK_VALUES = 2**20
"""Maximum number of logits in a chunk: a wide table's chunks have fewer rows."""
NETWORK_ROWS = 512
"""Rows of one network call: few enough that activations and logits fit into a core's own cache."""


class NetworkRows:
    """A network's codes; see `core.artifacts.sampling.row_source.RowSource`.

    Args:
        network: Its outputs have the manifest's shape.
    """

    def __init__(self, network: Network, manifest: TableManifest) -> None:
        self._network, self._manifest = network, manifest
        self._cells = sum(manifest.cardinalities)
        self.chunk_rows = max(1, min(CHUNK_ROWS, CHUNK_VALUES // self._cells))

    def scratch(self, rows: int) -> NDArray[np.float32]:
        """See `RowSource.scratch`."""
        return np.empty((self._cells, rows), dtype=np.float32)

    def draw(
        self, codes: Codes, labels: Codes, rng: np.random.Generator, scratch: NDArray[np.float32]
    ) -> None:
        """See `RowSource.draw`."""
        by_cell = scratch[:, : len(codes)]
        self._write_logits(by_cell, self._one_hot(labels), rng)
        (drawn,) = self._drawn(by_cell, labels, rng, draws=1)
        codes[:] = drawn.T

    def draw_twice(
        self, codes: Codes, labels: Codes, rng: np.random.Generator, scratch: NDArray[np.float32]
    ) -> tuple[Codes, NDArray[np.float32]]:
        """See `RowSource.draw_twice`."""
        by_cell, one_hot = scratch[:, : len(codes)], self._one_hot(labels)
        self._write_logits(by_cell, one_hot, rng)
        first, second = self._drawn(by_cell, labels, rng, draws=2)
        cardinalities, given = self._manifest.cardinalities, self._manifest.label_index
        if given is not None:
            start = sum(cardinalities[:given])
            by_cell[start : start + one_hot.shape[1]] = one_hot.T
        normalise(by_cell, cardinalities)
        codes[:] = first.T
        return second.T, by_cell.T

    def _drawn(
        self, by_cell: NDArray[np.float32], labels: Codes, rng: np.random.Generator, *, draws: int
    ) -> Sequence[Codes]:
        """Codes (columns, rows) of every draw."""
        given = self._manifest.label_index
        drawn = draw_codes(by_cell, self._manifest.cardinalities, rng, draws=draws, given=given)
        if given is not None:
            drawn[:, given] = labels
        return list(drawn)

    def _write_logits(
        self, by_cell: NDArray[np.float32], one_hot: NDArray[np.float32], rng: np.random.Generator
    ) -> None:
        """Write the logits (cells, rows) of fresh latent vectors and given labels."""
        for start in range(0, len(one_hot), NETWORK_ROWS):
            given = one_hot[start : start + NETWORK_ROWS]
            latent = standard_normals(len(given), self._manifest.latent_dimension, rng)
            by_cell[:, start : start + NETWORK_ROWS] = self._network(latent, given).T

    def _one_hot(self, labels: Codes) -> NDArray[np.float32]:
        distribution = self._manifest.label_probabilities
        if distribution is None:
            return np.zeros((len(labels), 0), dtype=np.float32)
        return np.eye(len(distribution), dtype=np.float32)[labels]
