"""A private table split in two halves by privacy unit: one is attacked, the other serves as reference."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.plan.domain.codec import Codes


@dataclass(frozen=True, kw_only=True, eq=False)
class Halves:
    """The two halves, each in a random order.

    Attributes:
        attacked: (rows, columns) codes of the attacked units.
        others: (other rows, columns) codes of all other units: other people's records from the same distribution.
    """

    attacked: Codes
    others: Codes


def halves(codes: Codes, units: NDArray[np.integer], rng: np.random.Generator) -> Halves:
    """Split (rows, columns) codes by unit: no unit has records in both halves.

    Args:
        units: (rows,) the unit of every record.
    """
    known, unit_of_row = np.unique(units, return_inverse=True)
    is_attacked = rng.permutation(len(known)) < (len(known) + 1) // 2
    order = rng.permutation(len(codes))
    chosen = is_attacked[unit_of_row][order]
    return Halves(attacked=codes[order][chosen], others=codes[order][~chosen])
