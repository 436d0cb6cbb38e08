"""Noisy counts as distributions: projection to the simplex, and shares without zeros."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
SMALLEST_SHARE = 1e-6
_LEAST_SUM = 1e-15


def project_to_simplex(values: Floats, *, total: float) -> Floats:
    """The nearest non-negative vector with the sum `total` (Duchi et al. 2008, figure 1)."""
    if (largest := values.max()) - total == largest:
        # Beside such values the sum is lost in rounding; a shift of all values moves no projection.
        values = values - largest
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    projected: Floats = np.maximum(values - excess[last], 0.0)
    return projected


def positive_distribution(shares: Floats) -> Floats:
    """Shares as a distribution with sum one and no zero: no share is below 1e-6, or a thousandth of an even one."""
    kept: Floats = np.maximum(shares, min(SMALLEST_SHARE, 1e-3 / len(shares)))
    kept /= kept.sum()
    return kept


def scaled_to_margins(tables: Floats, rows: Floats, columns: Floats, *, scalings: int) -> Floats:
    """Iterative proportional fitting: scale the columns and rows of tables in turn to their sums (Deming and Stephan 1940).

    Args:
        tables: (..., rows, columns) positive shares.
        rows: (..., rows) sums.
        columns: (..., columns) sums.
        scalings: of columns and rows each. Rows are scaled last, so their sums are exact.
    """
    scaled = tables
    for _ in range(scalings):
        scaled = scaled * (columns / np.maximum(scaled.sum(axis=-2), _LEAST_SUM))[..., None, :]
        scaled = scaled * (rows / np.maximum(scaled.sum(axis=-1), _LEAST_SUM))[..., :, None]
    return scaled
