"""Numbers in a draft that are in order in every row but too far apart for a difference: a rule, or a note."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.dependencies import ORDER
from understudy.drafts.differences import DIFFERENCE, values_of
from understudy.drafts.row_sample import RowSample
from understudy.table_files import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_ROWS: Final = 200
_FIRST_ROWS: Final = 64
_MOST_NUMBERS: Final = 60
"""Maximum numeric columns for comparing all pairs."""
_MAJORITY: Final = 0.5
"""Minimum share of rows with first < second; if mostly equal, the order may be chance."""
_BROKEN: Final = 0.1
"""Minimum share of random pairs that break the order; rarer breaks need no rule."""

Column = dict[str, Any]


def propose_orders(
    columns: Sequence[Column], sample: RowSample, *, target: str | None, fixed: Collection[str]
) -> list[Column]:
    """Draft rules that one number is never below another, and note them.

    No rule may change the target; its note says that a person may declare one. Columns in drafted rules, `fixed`, keep their relation.
    """
    numbers = {
        str(column["name"]): values_of(column, sample)
        for column in columns
        if column["kind"] == "numeric" and DIFFERENCE not in column and column["name"] not in fixed
    }
    if len(numbers) > _MOST_NUMBERS:
        return []
    by_name = {str(column["name"]): column for column in columns}
    found: dict[str, _Order] = {}
    for order in _orders(numbers):
        if order.end not in found or order.broken > found[order.end].broken:
            found[order.end] = order
    rules: list[Column] = []
    for end, order in found.items():
        is_drafted = order.below > _MAJORITY and target not in {order.start, end}
        by_name[end][NOTE] += f" {_note(order, is_drafted=is_drafted)}"
        if is_drafted:
            rules.append({"kind": ORDER, "columns": [order.start, end], MARK: ["columns"]})
    return rules


def _note(order: "_Order", *, is_drafted: bool) -> str:
    said = (
        f"Never below {order.start} in any row that was compared; {100 * order.broken:.0f} % of random pairs would be. The two are"
        " too far apart for a difference"
    )
    if is_drafted:
        return (
            f"{said}. A rule is drafted, so that synthetic rows keep the order. A real row that breaks it is counted unchanged, and no synthetic row is"
            " like it: drop the rule if there may be such rows."
        )
    return f"{said}: if the order must hold, declare the rule 'at_most' of {order.start} and {order.end} (docs/domain.md#rules-between-columns)."


@dataclass(frozen=True)
class _Order:
    """Two columns, the first never above the second.

    Attributes:
        start: Name of the first column.
        end: Name of the second column.
        below: Share of the rows with first < second.
        broken: Share of random pairs with first > second.
    """

    start: str
    end: str
    below: float
    broken: float


def _orders(numbers: Mapping[str, "Floats"]) -> Iterator[_Order]:
    import numpy as np

    for start, end in permutations(numbers, 2):
        one, other = numbers[start], numbers[end]
        if (one[:_FIRST_ROWS] > other[:_FIRST_ROWS]).any() or (one > other).any():
            continue
        known = ~(np.isnan(one) | np.isnan(other))
        below = float((one[known] < other[known]).mean()) if known.any() else 0.0
        one, other = np.sort(one[known]), np.sort(other[known])
        if len(one) < _FEWEST_ROWS or not below:
            continue
        broken = float(np.searchsorted(other, one, side="left").sum()) / len(one) ** 2
        if broken >= _BROKEN:
            yield _Order(start, end, below, broken)
