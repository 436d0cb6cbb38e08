"""The last year of a draft: rounded up, as other bounds are, it would allow years that have not come."""

from typing import Final

from understudy.drafts.bin_costs import Spread
from understudy.drafts.bounds import Bounds, Ends, robust_range
from understudy.drafts.words import names_year

_FIRST, _LAST = 1500, 2100
_EXACT: Final = frozenset({"linear", "learn"})
"""Kinds of bins that an upper bound does not list as an edge."""


def last_year(name: str, found: Bounds, spread: Spread, of_units: Ends | None) -> float | None:
    """The last year that two units reach; None for other numbers.

    Bounds of dates end with a whole year too, so this says no more about the rows.

    Args:
        spread: Counts of all whole numbers.
        of_units: Ends of each privacy unit's values; None if each row is a unit.
    """
    if not names_year(name) or found.bins not in _EXACT or found.is_narrowed:
        return None
    if not _FIRST <= found.lower < found.upper <= _LAST:
        return None
    years = {year: count for year, count in spread.items() if found.lower <= year <= found.upper}
    _, last = robust_range(years, of_units or (years, years))
    return last if last > found.lower else None
