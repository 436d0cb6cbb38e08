"""Columns of a draft that follow from two others in every row: a length of time between two dates, a total of two numbers."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Final

from understudy.draft_categories import NOTE
from understudy.draft_differences import values_of
from understudy.row_sample import RowSample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_ROWS: Final = 100
_FIRST_ROWS: Final = 64
_FEWEST_DIFFERENT: Final = 3
_MOST_NUMBERS: Final = 60
"""Columns of numbers up to which all pairs of them are compared."""
_ROUNDING: Final = 1e-6
_UNITS: Final = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}

Column = dict[str, Any]


def point_at_sums(columns: Sequence[Column], sample: RowSample) -> None:
    """Say in the notes of columns that they follow from two others.

    Args:
        columns: Of the draft; their notes are changed.
        sample: Some of the rows.
    """
    numbers = {
        str(column["name"]): found
        for column in columns
        if column["kind"] == "numeric" and _varies(found := values_of(column, sample))
    }
    times = {
        str(column["name"]): values_of(column, sample)
        for column in columns
        if column["kind"] in {"date", "datetime"}
    }
    lines = dict([*_totals(numbers), *_lengths(numbers, times)])
    for column in columns:
        if (line := lines.get(str(column["name"]))) is not None:
            column[NOTE] = f"{column.get(NOTE, '')} {line}".strip()


def _lengths(numbers: Mapping[str, "Floats"], times: Mapping[str, "Floats"]) -> Iterator[tuple[str, str]]:
    for name, found in numbers.items():
        for start, end in permutations(times, 2):
            apart = times[end] - times[start]
            unit = next((unit for unit, size in _UNITS.items() if _are_equal(found, apart / size)), None)
            if unit is not None:
                yield (
                    name,
                    (
                        f"Follows from others: the {unit} from {start} to {end}, in every row that was compared. No rule says so of times, and synthetic rows would contradict"
                        " themselves: ignore it, and compute it from synthetic rows."
                    ),
                )
                break


def _totals(numbers: Mapping[str, "Floats"]) -> Iterator[tuple[str, str]]:
    import numpy as np

    names = list(numbers)
    if not _FEWEST_DIFFERENT <= len(names) <= _MOST_NUMBERS:
        return
    every = np.stack([numbers[name] for name in names])
    first = every[:, ~np.isnan(every).any(axis=0)][:, :_FIRST_ROWS]
    if not first.shape[1]:
        return
    for one, other in combinations(range(len(names)), 2):
        near = np.isclose(first, first[one] + first[other], rtol=0, atol=_ROUNDING).all(axis=1)
        for total in set(np.flatnonzero(near).tolist()) - {one, other}:
            if _are_equal(every[total], every[one] + every[other]):
                parts = [names[one], names[other]]
                yield (
                    names[total],
                    (
                        f'Follows from others: {parts[0]} and {parts[1]} together, in every row that was compared. If that is a law, declare the rule "sum" with these parts and this'
                        " total (docs/domain.md#rules-between-columns), or ignore one of the three and compute it from synthetic rows."
                    ),
                )


def _varies(numbers: "Floats") -> bool:
    """Whether enough rows have a number, and at least three different ones."""
    import numpy as np

    known = numbers[~np.isnan(numbers)]
    return len(known) >= _FEWEST_ROWS and len(np.unique(known)) >= _FEWEST_DIFFERENT


def _are_equal(one: "Floats", other: "Floats") -> bool:
    """Whether two columns are equal in all rows that have both, and enough rows do."""
    import numpy as np

    both = ~(np.isnan(one) | np.isnan(other))
    if both.sum() < _FEWEST_ROWS:
        return False
    rows = np.flatnonzero(both)
    for part in (rows[:_FIRST_ROWS], rows):
        if not np.allclose(one[part], other[part], rtol=0, atol=_ROUNDING):
            return False
    return True
