"""The draft of a column of numbers: amounts, clock times, years, or values of a natural scale.

The rules use names and the distribution of the values; they are public and the same for every table. They decide what a draft proposes; a person
decides what is declared.
"""

from collections.abc import Collection
from math import floor
from typing import Any, Final

from understudy.drafts.bin_costs import (
    TOLERATED_SHIFT,
    TOLERATED_SIGN,
    TOLERATED_TAIL,
    Cost,
    Spread,
    with_frequent_numbers,
)
from understudy.drafts.bounds import (
    Bounds,
    Ends,
    choose_bounds,
    few_values,
    limits,
    outermost,
    robust_range,
    special_values,
)
from understudy.drafts.facts import MOST_DECIMALS, Facts
from understudy.drafts.words import names_clock, names_year, natural_scale
from understudy.plain_text import plain_number

MOST_INTEGER_CODES: Final = 60
LARGEST: Final = 2.0**52
"""Largest number in units of the last decimal: half of a domain's limit, because bounds are rounded up."""
NATURAL_BOUNDS: Final = "Bounds are those of the scale that the name says, whatever the rows hold."
"""Beginning of the note of a column with a natural scale."""
COVER_ALL: Final = "Bounds are rounded and cover all rows;"
"""Beginning of the note of a column whose bounds clamp no row."""
FEWEST_ROWS_OF_A_WORD: Final = 10
"""Minimum rows of a drafted word, or of a drafted value of a low-cardinality column."""
_ROUNDING = 1e-6

_STEPS: Final = tuple(
    sorted(
        {
            60,
            30,
            25,
            15,
            12,
            *(mantissa * 10**power for power in range(9) for mantissa in (2, 5, 10, 25, 125)),
        },
        reverse=True,
    )
)
"""Candidates for the common divisor of a column's values, largest first."""
_SHARE_OF_MULTIPLES: Final = 0.995
_FEWEST_MULTIPLES: Final = 6
"""Minimum distinct multiples; fewer values have codes of their own."""
_CHANCE: Final = 1e-4

_FIRST_YEAR, _LAST_YEAR = 1500, 2100

_MIDNIGHT, _LAST_MINUTE = 2400.0, 2359
_MINUTES = 60
_FEWEST_HOURS, _FEWEST_MINUTES, _FEWEST_TIMES = 4, 10, 20
_CLOCK_EDGES: Final = (
    *(edge for hour in range(0, 2300, 100) for edge in (hour, hour + 60)),
    2300,
    _LAST_MINUTE,
)


def numbers(name: str, fact: Facts) -> dict[str, Any]:
    """Draft a column of numbers: its kind, type, bounds and bins, and a note."""
    exact = exact_counts(fact)
    spread = with_frequent_numbers(fact.spread, exact)
    inside, beyond = special_values(exact, spread)
    if _is_clock(name, fact, beyond):
        return _clock(fact, beyond)
    decimals = fact.decimals if not fact.whole and fact.decimals <= MOST_DECIMALS else None
    if decimals is not None and max(-fact.lower, fact.upper) * 10**decimals > LARGEST:
        decimals = None
    unit = 1.0 if fact.whole else None if decimals is None else 10.0**-decimals
    few = few_values(exact, spread, unit=unit, fewest=fewest_rows(fact), beyond=beyond)
    of_units = outermost(fact.units) or fact.ends_of_units(without=beyond)
    found = choose_bounds(
        spread,
        unit=unit,
        of_units=of_units,
        exact=None if few else exact,
        inside=few or tuple(sorted({*inside, *limits(exact, spread, beyond)})),
        beyond=beyond,
        natural=natural_scale(name),
    )
    last = _last_year(name, found, spread, of_units) if fact.whole else None
    column: dict[str, Any] = {
        "kind": "numeric",
        "type": "integer" if fact.whole else "real",
        "lower": plain(found.lower),
        "upper": plain(found.upper if last is None else min(found.upper, last)),
    }
    if decimals is not None:
        column["decimals"] = decimals
    if found.specials:
        column["specials"] = [plain(value) for value in found.specials]
    if few:
        if unit is not None and floor((found.upper - found.lower) / unit + _ROUNDING) < len(found.specials):
            # A domain needs at least one value without a code of its own.
            column["upper"] = plain(round(max(found.specials) + unit, decimals or 0))
        return column | {
            "bins": 1,
            "_note": "Few values, each with a code of its own; all other numbers share one bin.",
        }
    multiple = _multiple_of(fact, decimals, {*beyond, *found.specials})
    if multiple is not None:
        column["multiple_of"] = plain(multiple)
    bins: dict[str, dict[str, Any]] = {
        "log": {"spacing": "log"},
        "learn": {"bins": "learn"},
        "ratio": {"edges": [plain(edge) for edge in found.edges]},
    }
    column |= bins.get(found.bins, {})
    ending = (
        ""
        if multiple is None
        else f" Synthetic values are multiples of {plain(multiple)}, like nearly all values."
    )
    return column | {"_note": bounds_note(found) + ending}


def fewest_rows(fact: Facts) -> int:
    """Minimum rows of a drafted word among numbers: ten, of short tables 1 % of the rows, and always two."""
    return max(2, min(FEWEST_ROWS_OF_A_WORD, fact.rows // 100))


def _last_year(name: str, found: Bounds, spread: Spread, of_units: Ends | None) -> float | None:
    """The last year that two units reach; None for other numbers. Rounded up, a bound would allow years that have not come.

    Bounds of dates end with a whole year too, so this says no more about the rows.

    Args:
        spread: Counts of all whole numbers.
        of_units: Ends of each privacy unit's values; None if each row is a unit.
    """
    if not names_year(name) or found.edges or found.bins == "log" or found.is_narrowed:
        return None
    if not _FIRST_YEAR <= found.lower < found.upper <= _LAST_YEAR:
        return None
    years = {year: count for year, count in spread.items() if found.lower <= year <= found.upper}
    _, last = robust_range(years, of_units or (years, years))
    return last if last > found.lower else None


def _multiple_of(fact: Facts, decimals: int | None, without: Collection[float]) -> float | None:
    """The largest candidate that divides nearly all values, if enough distinct ones rule out chance."""
    if not fact.whole and decimals is None:
        return None
    scale = 10 ** (decimals or 0)
    counts = {
        round(float(text) * scale): count
        for text, count in fact.values.items()
        if text not in (fact.odd or ()) and float(text) not in without
    }
    rows = sum(counts.values())
    for step in _STEPS:
        multiples = [value for value in counts if value % step == 0]
        held = sum(counts[value] for value in multiples)
        if held < _SHARE_OF_MULTIPLES * rows:
            continue
        by_chance = step ** -float(len(multiples) - 1)
        return step / scale if len(multiples) >= _FEWEST_MULTIPLES and by_chance < _CHANCE else None
    return None


def bounds_note(found: Bounds) -> str:
    """The simulated cost of bounds, bins and special values, in a few sentences."""
    notes = []
    if found.is_natural:
        notes.append(NATURAL_BOUNDS)
    if found.cost.clamped > 0:
        beyond = " These rows lie far beyond the rest, like typing errors." if found.is_narrowed else ""
        notes.append(
            f"Bounds cover all but {plain_number(100 * found.cost.clamped, 1)} % of the rows, which are clamped to the bound.{beyond}"
        )
    if found.heaped:
        share = f"of {100 * found.share_heaped:.0f} % of the rows would be lost in bins"
        notes.append(
            f"1 value {share}: it has a code of its own, and becomes public."
            if len(found.heaped) == 1
            else f"{len(found.heaped)} values {share}: they have codes of their own, and become public."
        )
    if len(found.specials) > len(found.heaped):
        notes.append("Frequent values, and values with a special meaning, have codes of their own.")
    notes += [line for line in (_on_bins(found),) if line]
    if found.even is not None and (found.bins != "linear" or found.heaped or not found.even.is_tolerated):
        notes.append(_on_ends(found, found.even))
    return " ".join(notes) or f"{COVER_ALL} even bins keep the quartiles."


def _on_bins(found: Bounds) -> str:
    """The reason for the bins; empty for even bins that keep the quartiles."""
    even = found.even or found.cost
    match found.bins:
        case "log":
            return "Bins are narrow at the lower bound and widen from there, because most values are small."
        case "ratio":
            step = (found.edges[-1] / found.edges[1]) ** (1 / (len(found.edges) - 2)) - 1
            return f"Edges of equal ratio, because most values are small: each edge is {100 * step:.0f} % above the one before."
        case "learn":
            return f"Bins are learnt with noise{_on_even_ones(even)}."
        case _ if found.cost.shift > TOLERATED_SHIFT:
            return f"WARNING: even bins move a quartile by {100 * found.cost.shift:.0f} % of the distance between its neighbours; declare edges or narrower bounds."
    return ""


def _on_even_ones(even: Cost) -> str:
    """The reason against even bins, for a note."""
    if even.shift > TOLERATED_SHIFT:
        return f": even bins would move a quartile by {100 * even.shift:.0f} % of the distance between its neighbours"
    if even.sign > TOLERATED_SIGN:
        return f": even bins would flip the sign of {100 * even.sign:.0f} % of the rows"
    return ", because even bins lose the tails"


def _on_ends(found: Bounds, even: Cost) -> str:
    """The tails in the rows, in the draft and, if not drafted, with even bins."""
    real, made = (
        ", ".join(plain_number(end, 4) for end in ends) for ends in (found.cost.ends, found.cost.drawn_ends)
    )
    instead = ""
    if found.bins != "linear":
        instead = f", with even bins {', '.join(plain_number(end, 4) for end in even.drawn_ends)}"
    warning = (
        ""
        if found.cost.tail <= 2 * TOLERATED_TAIL or found.bins == "learn"
        else "WARNING: declare edges or narrower bounds. "
    )
    rest = " of the other rows" if found.specials else " of the rows"
    return f"{warning}5, 95 and 99 %{rest} lie below {real}; simulated rows below {made}{instead}."


def _is_clock(name: str, fact: Facts, beyond: tuple[float, ...]) -> bool:
    """Whether whole numbers are hours and minutes, such as 1745: the last two digits are always below 60, which has a chance of 0.6 per value."""
    times = [value for value in fact.spread if value not in beyond]
    if not fact.whole or fact.decimals or not times or min(times) < 0 or max(times) > _MIDNIGHT:
        return False
    if any(value % 100 >= _MINUTES for value in times):
        return False
    hours, minutes = {value // 100 for value in times}, {value % 100 for value in times}
    if names_clock(name):
        return len(hours) >= _FEWEST_HOURS and len(minutes) > 1
    after_one = sum(value >= 100 for value in times)  # noqa: PLR2004 - 0100 is one o'clock
    return len(hours) >= _FEWEST_HOURS and len(minutes) >= _FEWEST_MINUTES and after_one >= _FEWEST_TIMES


def _clock(fact: Facts, beyond: tuple[float, ...]) -> dict[str, Any]:
    specials = sorted({*beyond, *({_MIDNIGHT} & set(fact.spread))})
    return {
        "kind": "numeric",
        "type": "integer",
        "lower": 0,
        "upper": _LAST_MINUTE,
        "edges": list(_CLOCK_EDGES),
        **({"specials": [plain(value) for value in specials]} if specials else {}),
        "_note": "Clock times as hours and minutes, such as 1745: each hour has a bin, and one more for the impossible minutes 60 to 99.",
    }


def exact_counts(fact: Facts) -> dict[float, int]:
    """Counts of unrounded numbers; after thinning only of 0, which rounding keeps."""
    if fact.thinned:
        return {0.0: fact.spread[0.0]}
    return {float(text): count for text, count in fact.values.items() if text not in (fact.odd or ())}


def plain(value: float) -> float | int:
    """A number as a document writes it: whole numbers without a point."""
    return int(value) if float(value).is_integer() else value
