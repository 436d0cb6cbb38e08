"""Exact arithmetic on images: sums of integers below 2^53, which float64 adds exactly in any order.

A record's contribution must not depend on other records. A floating-point matrix product may round a row differently when the number of rows
changes, so removing one unit would change the others' contributions. So all matrix products here use integers; all other operations (scale
factors, rounding) are elementwise.
"""

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

COSINE_BITS = 14
"""Cosines and directions are multiples of 2^-14."""
RESIDUAL_BITS = 12
"""Low frequencies and residuals are multiples of 2^-12 of a pixel's range."""
RECORD_BITS = 10
"""Clipped vectors are multiples of 2^-10; their products and sums of 2^-20."""
_TO_PIXELS = 1.0 / 255.0
BELOW = 1.0 - 2.0**-40
"""Factor below one by more than all rounding of a scale factor, so that clipped norms stay below their bound."""
CHUNK = 4096  # images at a time, fewer if they are large: float64 copies of a chunk stay below 64 MiB
CHUNK_PIXELS = 1 << 22


def cosines(side: int, frequencies: int) -> Floats:
    """The orthonormal discrete cosine transform (type II) of one side, lowest frequencies first, in integers times 2^14.

    Args:
        side: number of pixels.
        frequencies: number of frequencies kept, at most `side`.

    Returns:
        (frequencies, side).
    """
    position = (2 * np.arange(side) + 1)[None, :] * np.arange(frequencies)[:, None]
    wave = np.cos(math.pi * position / (2 * side)) * math.sqrt(2.0 / side)
    wave[0] /= math.sqrt(2.0)
    made: Floats = np.rint(wave * 2.0**COSINE_BITS)
    return made


def low_frequencies(pixels: npt.NDArray[np.uint8], frequencies: int) -> Floats:
    """Low frequencies of images, exact up to one rounding of each number to the grid 2^-12.

    The two integer products stay below 2^(8 + 14 + 8) and 2^(30 + 14 + 8).

    Args:
        pixels: (images, height, width, channels) with sides up to 256.
        frequencies: number kept along each side.

    Returns:
        (images, channels * frequencies^2) integers times 2^12.
    """
    count, height, width, channels = pixels.shape
    down, right = cosines(height, frequencies), cosines(width, frequencies)
    planes = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)).reshape(-1, width).astype(np.float64)
    rows = (planes @ right.T).reshape(count * channels, height, frequencies)
    both = np.matmul(down, rows)
    scale = _TO_PIXELS * 2.0 ** (RESIDUAL_BITS - 2 * COSINE_BITS)
    made: Floats = np.rint(both * scale).reshape(count, channels * frequencies**2)
    return made


def unit_shares(unit_of_record: npt.NDArray[np.int64]) -> Floats:
    """One over the number of records in each record's unit; shape (records,)."""
    return (
        1.0 / np.bincount(unit_of_record, minlength=1)[unit_of_record] if len(unit_of_record) else np.zeros(0)
    )


def clipped(
    values: Floats, bound: float, shares: Floats, *, lead: float = 0.0, squares: Floats | None = None
) -> Floats:
    """Vectors with a leading constant, each with norm at most `sqrt(share) * hypot(lead, bound)`, rounded towards zero.

    The outer products of such a vector with itself then add up, over a unit's records, to a matrix of Frobenius norm at most `lead^2 + bound^2`.

    Args:
        values: (records, n) integers times 2^12.
        bound: clipping norm.
        shares: (records,) share of each record in its unit.
        lead: the leading number; 0 omits it.
        squares: (records,) squared norms of `values`, if known.

    Returns:
        (records, n or n + 1) integers times 2^10.
    """
    norms = np.sqrt(np.einsum("ij,ij->i", values, values) if squares is None else squares)
    factor = np.minimum(bound * 2.0**RESIDUAL_BITS / np.maximum(norms, 1.0), 1.0)
    root = np.sqrt(shares) * (BELOW * 2.0**RECORD_BITS)
    short = np.trunc(values * (factor * root * 2.0**-RESIDUAL_BITS)[:, None])
    return short if lead == 0.0 else np.column_stack([np.trunc(root * lead), short])


def nearest(values: Floats, centres: Floats) -> npt.NDArray[np.int64]:
    """Index of the nearest centre of each vector, the lowest in a tie; exact, because both are integers.

    Args:
        values: (records, n), below 2^24.
        centres: (cells, n), below 2^20.
    """
    if len(centres) == 1:
        return np.zeros(len(values), dtype=np.int64)
    half = np.einsum("ij,ij->i", centres, centres)
    chosen: npt.NDArray[np.int64] = (half - 2.0 * (values @ centres.T)).argmin(axis=1)
    return chosen
