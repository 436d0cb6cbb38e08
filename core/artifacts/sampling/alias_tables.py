"""Drawing from many discrete distributions at once by the alias method.

A draw takes a random word, a shift, a comparison and two look-ups.

A distribution of `n` codes is cut into `n` cells of equal width that hold at most two codes each: the cell's own up to a threshold,
another beyond it. The first bits of a uniform word choose the cell, the others are compared with the threshold, so the cost
of a draw depends on neither the distribution nor the number of codes (Walker 1977; Vose 1991). Cells are padded to a power of
two, so a code's probability is a multiple of 2^-32, and a code with no probability is never drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

_WORD_BITS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AliasTables:
    """Distributions of equally many codes.

    Attributes:
        bits: Each distribution has ``2 ** bits`` cells.
        thresholds: uint32 array of shape (distributions * cells,); below it a cell's own code is drawn.
        others: int16 array of shape (distributions * cells,): the other code of each cell.
    """

    bits: int
    thresholds: NDArray[np.uint32]
    others: NDArray[np.int16]

    @classmethod
    def of(cls, distributions: Sequence[NDArray[np.float64]]) -> list[Self]:
        """Make the tables of several groups of distributions.

        Args:
            distributions: Arrays of shape (distributions, codes), at most 2^15 codes. The probabilities of a distribution sum to one.
        """
        made: dict[int, Self] = {}
        wanted = [max(1, (own.shape[1] - 1).bit_length()) for own in distributions]
        # All distributions of one width at once: each step of the loop over cells is one vectorised operation.
        for bits in set(wanted):
            chosen = [number for number, own in enumerate(wanted) if own == bits]
            padded = [
                np.pad(distributions[number], ((0, 0), (0, (1 << bits) - distributions[number].shape[1])))
                for number in chosen
            ]
            thresholds, others = _cells(np.concatenate(padded))
            stops = np.cumsum([len(own) for own in padded])[:-1]
            for number, below, beyond in zip(
                chosen, np.split(thresholds, stops), np.split(others, stops), strict=True
            ):
                made[number] = cls(bits=bits, thresholds=below.ravel(), others=beyond.ravel())
        return [made[number] for number in range(len(distributions))]

    def draw(self, distributions: NDArray[np.intp], words: NDArray[np.uint32]) -> NDArray[np.int16]:
        """Draw a code from a distribution for each row.

        Args:
            distributions: (rows,) index of the distribution.
            words: (rows,) uniform words; overwritten.
        """
        own = words >> np.uint32(_WORD_BITS - self.bits)
        cells = distributions << self.bits
        cells += own
        words <<= np.uint32(self.bits)
        return np.where(words < self.thresholds.take(cells), own.astype(np.int16), self.others.take(cells))


def _cells(distributions: NDArray[np.float64]) -> tuple[NDArray[np.uint32], NDArray[np.int16]]:
    """Thresholds and other codes (distributions, cells) of distributions of that shape.

    In every distribution one code above the mean, the giver, fills the cells of codes below it. Once it falls below the mean itself,
    the next such code fills its cell and becomes the giver. So each step completes one cell of every distribution.
    """
    cells = distributions.shape[1]
    scaled = distributions * (cells / distributions.sum(axis=1, keepdims=True))
    lines = np.arange(len(distributions))
    # Codes at or below the mean, then those above it.
    order = np.argsort(scaled > 1.0, axis=1, kind="stable")
    small = (scaled <= 1.0).sum(axis=1)
    kept, others = np.ones_like(scaled), np.tile(np.arange(cells), (len(distributions), 1))
    taker, giver = np.zeros_like(small), small.copy()
    left = scaled[lines, order[lines, np.minimum(giver, cells - 1)]]
    for _ in range(cells):
        giving = order[lines, np.minimum(giver, cells - 1)]
        gives = (left > 1.0) & (taker < small)
        filled = np.where(gives, order[lines, np.minimum(taker, cells - 1)], giving)
        filling = np.where(gives, giving, order[lines, np.minimum(giver + 1, cells - 1)])
        weight = np.where(gives, scaled[lines, filled], left)
        kept[lines, filled], others[lines, filled] = weight, filling
        left = np.where(gives, left, scaled[lines, filling]) - (1.0 - weight)
        taker += gives
        giver += ~gives
    thresholds = np.clip(np.rint(kept * 2.0**_WORD_BITS), 0, 2**_WORD_BITS - 1).astype(np.uint32)
    return thresholds, others.astype(np.int16)
