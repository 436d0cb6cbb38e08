"""What a draft says of numbers that are in an order in every row, but too far apart to be drafted as a difference."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.differences import DIFFERENCE, values_of
from understudy.drafts.row_sample import RowSample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_ROWS: Final = 200
_FIRST_ROWS: Final = 64
_MOST_NUMBERS: Final = 60
"""Columns of numbers up to which all pairs of them are compared."""
_BROKEN: Final = 0.1
"""Share of rows put together by chance that would break an order; one that fewer break needs no rule."""

Column = dict[str, Any]


def point_at_orders(columns: Sequence[Column], sample: RowSample, *, fixed: Collection[str]) -> None:
    """Say in the notes of numbers that they are never below another one, so that a person may declare the order.

    Args:
        columns: Of the draft; their notes are changed.
        sample: Some of the rows.
        fixed: Names of columns that drafted rules name, which keep their own relation.
    """
    numbers = {
        str(column["name"]): values_of(column, sample)
        for column in columns
        if column["kind"] == "numeric" and DIFFERENCE not in column and column["name"] not in fixed
    }
    if len(numbers) > _MOST_NUMBERS:
        return
    by_name = {str(column["name"]): column for column in columns}
    found: dict[str, tuple[float, str]] = {}
    for start, end, broken in _orders(numbers):
        found[end] = max(found.get(end, (0.0, "")), (broken, start))
    for end, (broken, start) in found.items():
        by_name[end][NOTE] += (
            f" Never below {start} in any row that was compared, where {100 * broken:.0f} % of values put together by chance would be. The two are too far"
            f" apart for a difference: if the order must hold, declare the rule 'at_most' of {start} and {end} (docs/domain.md#rules-between-columns)."
        )


def _orders(numbers: Mapping[str, "Floats"]) -> Iterator[tuple[str, str, float]]:
    """Two columns of which the first is never above the second, and the share of rows by chance in which it would be."""
    import numpy as np

    for start, end in permutations(numbers, 2):
        one, other = numbers[start], numbers[end]
        if (one[:_FIRST_ROWS] > other[:_FIRST_ROWS]).any() or (one > other).any():
            continue
        known = ~(np.isnan(one) | np.isnan(other))
        one, other = np.sort(one[known]), np.sort(other[known])
        if len(one) < _FEWEST_ROWS or (one == other).all():
            continue
        below = np.searchsorted(other, one, side="left")
        broken = float(below.sum()) / len(one) ** 2
        if broken >= _BROKEN:
            yield start, end, broken
