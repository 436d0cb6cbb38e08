"""Codes whose noisy counts say nothing, merged into one before a model is fitted, and separated again afterwards."""

import numpy as np
import numpy.typing as npt

from benchmarks.tables.peers.marginals import Codes


def merged(significant: npt.NDArray[np.bool_]) -> Codes:
    """New codes: significant ones in order, then one for all others; (codes,)."""
    found: Codes = np.where(significant, np.cumsum(significant) - 1, int(significant.sum()))
    return found


def unmerged(merging: Codes, codes: Codes, rng: np.random.Generator) -> Codes:
    """Old codes of new ones, drawn evenly among those that were merged."""
    made = np.empty_like(codes)
    for new in range(int(merging.max()) + 1):
        rows = codes == new
        made[rows] = rng.choice(np.flatnonzero(merging == new), int(rows.sum()))
    return made
