"""Totals of two numbers in a draft: a rule, or a note with the share of the rows where they hold."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.differences import values_of
from understudy.drafts.row_sample import RowSample
from understudy.table_files import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_ROWS: Final = 100
_FIRST_ROWS: Final = 64
_OF_FIRST: Final = 0.9
"""Minimum share among the first rows, before all rows are compared."""
_FEWEST_DIFFERENT: Final = 3
_MOST_NUMBERS: Final = 60
"""Maximum numeric columns for comparing all pairs."""
_ROUNDING: Final = 1e-6
_ALIKE: Final = 0.02
"""Maximum difference of the largest heaps, as a share of the rows, at which columns count as alike: the smallest heap that becomes a special value."""
_FOLLOWS: Final = "Follows from others:"
NEARLY_ALL: Final = 0.99
"""Minimum share of the rows in which a total is the sum of its parts."""

Column = dict[str, Any]


def propose_sums(
    columns: Sequence[Column], sample: RowSample, *, fixed: Collection[str | None], tied: Collection[str] = ()
) -> list[Column]:
    """Draft rules for totals of two columns, and note them.

    Args:
        columns: Columns of the draft; the notes of totals are changed.
        sample: A sample of the rows.
        fixed: The column to be predicted and columns computed by other rules; no rule is drafted for these.
        tied: Names of columns in other rules; no part among them is computed.

    Returns:
        Rules as a domain declares them, with marks; a total may be a part of a later rule.
    """
    by_name = {str(column["name"]): column for column in columns}
    numbers = _numbers(columns, sample)
    parts_of: dict[str, tuple[str, str]] = {}
    shares: dict[str, str] = {}
    for share, total, *parts in sorted(_totals(numbers), key=lambda one: -one[0]):
        if total in shares or any(_is_made_of(part, total, parts_of) for part in parts):
            continue
        shares[total] = _compared(share)
        both = f"{parts[0]} and {parts[1]} together"
        if total in fixed or not _holds_sums(by_name[total], [by_name[part] for part in parts]):
            _say(
                by_name[total],
                f"{_FOLLOWS} {both}, {shares[total]}. Ignore one of the three, and compute it from synthetic rows.",
            )
        else:
            parts_of[total] = (parts[0], parts[1])
    rules: list[Column] = []
    # A sum computes no column of an earlier sum; its own total is always free.
    taken = {name for name in {*fixed, *tied} if name is not None}
    for total in sorted(parts_of, key=lambda total: _depth(total, parts_of)):
        parts = list(parts_of[total])
        free = [total, *(part for part in parts if part not in taken)]
        computed = column_to_compute([by_name[name] for name in free], by_name[total], numbers)
        rules.append(_rule(parts, total, computed))
        _say(by_name[total], _on_rule(parts, total, computed, compared=shares[total]))
        taken |= {*parts, total}
    return rules


def _rule(parts: Sequence[str], total: str, computed: str) -> Column:
    named = {"kind": "sum", "parts": list(parts), "total": total}
    return (
        named | {MARK: ["parts"]}
        if computed == total
        else named | {"computed": computed, MARK: ["parts", "computed"]}
    )


def _compared(share: float) -> str:
    """In how many rows a total holds."""
    if share == 1:
        return "in every row that was compared"
    return f"in {min(100 * share, 99.99):.2f} % of the rows that were compared"


def _on_rule(parts: Sequence[str], total: str, computed: str, *, compared: str) -> str:
    both = f"{_FOLLOWS} {' and '.join(parts)} together, {compared}. A rule is drafted, so that synthetic rows keep it"
    if computed == total:
        return f"{both}; or ignore this column, which takes budget, and compute it from synthetic rows."
    return (
        f"{both}: {computed} is computed, because fewer rows share its most common value. Or ignore {computed}, which takes budget, and compute it"
        " from synthetic rows."
    )


def _width(column: Column) -> float:
    return column["upper"] - column["lower"] if {"lower", "upper"} <= column.keys() else 0.0


def column_to_compute(columns: Sequence[Column], total: Column, numbers: Mapping[str, "Floats"]) -> str:
    """Name the column of a sum whose distribution loses least when it is computed from the others.

    A computed column loses its heaps. Among columns with similar largest heaps the total is chosen, else the column with the widest bounds: wide bins of
    the parts would blur a narrow computed column.
    """
    able = [column for column in columns if _decimals(column) >= _decimals(total)]
    heaps = {str(column["name"]): largest_heap(numbers[str(column["name"])]) for column in able}
    alike = [column for column in able if heaps[str(column["name"])] <= min(heaps.values()) + _ALIKE]
    chosen = max(alike, key=lambda column: (column is total, _width(column)))
    return str(chosen["name"])


def largest_heap(numbers: "Floats") -> float:
    """The share of the most common number among rows with a number."""
    import numpy as np

    known = numbers[~np.isnan(numbers)]
    return float(np.unique(known, return_counts=True)[1].max() / len(known))


def can_sum(rule: Column, columns: Mapping[str, Column]) -> bool:
    """Whether all columns of a sum still are numbers with bounds."""
    named = [columns.get(str(name), {}) for name in (*rule["parts"], rule["total"])]
    return all(
        column.get("kind") == "numeric" and {"lower", "upper"} <= column.keys() and "difference" not in column
        for column in named
    )


def _is_made_of(part: str, total: str, parts_of: Mapping[str, tuple[str, str]]) -> bool:
    return part == total or any(_is_made_of(one, total, parts_of) for one in parts_of.get(part, ()))


def _depth(total: str, parts_of: Mapping[str, tuple[str, str]]) -> int:
    return 1 + max((_depth(part, parts_of) for part in parts_of.get(total, ())), default=0)


def _holds_sums(total: Column, parts: Sequence[Column]) -> bool:
    """Whether the total can hold every sum: no part has more decimals."""
    return _decimals(total) >= max(map(_decimals, parts))


def _decimals(column: Column) -> float:
    return 0 if column["type"] == "integer" else column.get("decimals", inf)


def _numbers(columns: Sequence[Column], sample: RowSample) -> dict[str, "Floats"]:
    """The values of numbers that vary, by column."""
    return {
        str(column["name"]): found
        for column in columns
        if column["kind"] == "numeric" and _varies(found := values_of(column, sample))
    }


def _say(column: Column, line: str) -> None:
    column[NOTE] = f"{column.get(NOTE, '')} {line}".strip()


def _totals(numbers: Mapping[str, "Floats"]) -> Iterator[tuple[float, str, str, str]]:
    """The share of the rows in which a total holds, its name, and its two parts."""
    import numpy as np

    names = list(numbers)
    if not _FEWEST_DIFFERENT <= len(names) <= _MOST_NUMBERS:
        return
    every = np.stack([numbers[name] for name in names])
    first = every[:, ~np.isnan(every).any(axis=0)][:, :_FIRST_ROWS]
    if not first.shape[1]:
        return
    for one, other in combinations(range(len(names)), 2):
        near = np.isclose(first, first[one] + first[other], rtol=0, atol=_ROUNDING).mean(axis=1) >= _OF_FIRST
        for total in sorted(set(np.flatnonzero(near).tolist()) - {one, other}):
            share = _share_of_sums(every[total], every[one], every[other])
            if share >= NEARLY_ALL:
                yield share, names[total], names[one], names[other]


def _varies(numbers: "Floats") -> bool:
    """Whether enough rows have a number, with at least three distinct values."""
    import numpy as np

    known = numbers[~np.isnan(numbers)]
    return len(known) >= _FEWEST_ROWS and len(np.unique(known)) >= _FEWEST_DIFFERENT


def _share_of_sums(total: "Floats", one: "Floats", other: "Floats") -> float:
    """The share of the rows in which a total is the sum of its parts; 0 if few rows have all three.

    A total that differs in some rows must hold as often among rows where no part has its most common value: beside a part that is mostly 0
    it would be a mere copy of the other.
    """
    import numpy as np

    known = np.flatnonzero(~np.isnan(total + one + other))
    if len(known) < _FEWEST_ROWS:
        return 0.0
    holds = np.isclose(total[known], one[known] + other[known], rtol=0, atol=_ROUNDING)
    if holds.all():
        return 1.0
    telling = (one[known] != _most_common(one[known])) & (other[known] != _most_common(other[known]))
    if telling.sum() < _FEWEST_ROWS or holds[telling].mean() < NEARLY_ALL:
        return 0.0
    return float(holds.mean())


def _most_common(numbers: "Floats") -> float:
    import numpy as np

    values, counts = np.unique(numbers, return_counts=True)
    return float(values[counts.argmax()])
