"""Codes by inversion: one code per row and column from the softmax of a block of logits.

Needs numpy alone: the script of a bundle holds a copy.

Logits have a line for each cell, so that a step of a loop over the few cells of a column is one operation on vectors. The
weights e^logit are not normalised: a uniform is scaled by their sum instead.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SAFE_LOGIT = 60.0
"""Size of a logit up to which sums of float32 exponentials neither overflow nor vanish, so that no largest one is subtracted."""


def standard_normals(rows: int, columns: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Standard normal numbers by the transform of Box and Muller; numpy's own are drawn one by one, three times slower.

    Returns:
        float32 array of shape (rows, columns); no number is beyond 6.7 in size.
    """
    pairs = (rows * columns + 1) // 2
    words = rng.integers(0, 2**64, size=pairs, dtype=np.uint64).view(np.int32).astype(np.float32)
    # A half keeps zero out of the logarithm, and 32 bits near it the tail.
    radius = np.abs(words[:pairs] + np.float32(0.5))
    radius *= np.float32(2.0**-31)
    np.log(radius, out=radius)
    radius *= np.float32(-2.0)
    # Rounding may give a uniform just above one.
    np.sqrt(np.maximum(radius, np.float32(0.0), out=radius), out=radius)
    angle = words[pairs:]
    angle *= np.float32(np.pi * 2.0**-31)
    normals = np.stack([np.cos(angle), np.sin(angle)])
    normals *= radius
    return normals.ravel()[: rows * columns].reshape(rows, columns)


def draw_codes(
    by_cell: NDArray[np.float32],
    cardinalities: Sequence[int],
    rng: np.random.Generator,
    *,
    draws: int = 1,
    given: int | None = None,
) -> NDArray[np.int16]:
    """Draw codes from logits, several times from the same ones if asked.

    Args:
        by_cell: (cells, rows) logits; become weights, which are proportional to the distribution within a column.
        cardinalities: Codes of every column.
        rng: Where the uniforms come from.
        draws: How often.
        given: A column that is not drawn; its codes are left unset, its logits as they are.

    Returns:
        (draws, columns, rows) codes.
    """
    rows = by_cell.shape[1]
    uniforms = rng.random((draws, len(cardinalities), rows), dtype=np.float32)
    codes = np.empty(uniforms.shape, dtype=np.int16)
    scratch = np.empty((max(cardinalities, default=0), rows), dtype=np.float32)
    start = 0
    for column, cells in enumerate(cardinalities):
        if column != given:
            sums = _running_sums(by_cell[start : start + cells], scratch[:cells])
            for drawn, own in zip(codes[:, column], uniforms[:, column], strict=True):
                invert(sums, own, drawn)
        start += cells
    return codes


def _running_sums(block: NDArray[np.float32], sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """Exponentials of a block of logits (cells, rows), in place; return their running sums over the cells."""
    if block.size and not (block.max() <= SAFE_LOGIT and block.min() >= -SAFE_LOGIT):
        np.subtract(block, np.maximum.reduce(block, axis=0), out=block)
    np.exp(block, out=block)
    sums[0] = block[0]
    for cell in range(1, len(block)):
        np.add(block[cell], sums[cell - 1], out=sums[cell])
    return sums


def invert(sums: NDArray[np.float32], uniforms: NDArray[np.float32], codes: NDArray[np.int16]) -> None:
    """Write the codes (rows,) whose running sums (cells, rows) are the first above the uniforms' share of the last."""
    # float32 uniforms stop short of one, and a threshold can still round up to the total: the last cell is not
    # counted, so the code never leaves its block.
    reached = (sums[:-1] <= uniforms * sums[-1]).view(np.int8)
    counted = np.int8 if len(reached) <= np.iinfo(np.int8).max else np.int16
    codes[:] = np.add.reduce(reached, axis=0, dtype=counted)
