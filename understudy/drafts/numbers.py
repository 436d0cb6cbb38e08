"""The meaning of a column's whole numbers in a draft: amounts, codes, clock times, or values of a natural scale.

The rules use names and the distribution of the values; they are public and the same for every table. They decide what a draft proposes; a person
decides what is declared.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import floor
from typing import Any, Final

from understudy.drafts.bin_costs import (
    BINS,
    TOLERATED_SHIFT,
    TOLERATED_SIGN,
    TOLERATED_TAIL,
    Cost,
    with_frequent_numbers,
)
from understudy.drafts.bounds import Bounds, choose_bounds, few_values, limits, outermost, special_values
from understudy.drafts.facts import MOST_DECIMALS, Facts
from understudy.drafts.words import (
    code_book,
    code_form,
    names_amount,
    names_classes,
    names_classification,
    names_clock,
    names_codes,
    names_quantity,
    names_span_of_time,
    natural_scale,
    target_rank,
)
from understudy.drafts.years import last_year
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
_FEW_INTEGERS, _THREE = 2, 3
_ROWS_A_CODE = 5
_ROUNDING = 1e-6
_SPARSE = 1000
_LONG_CODE = 1e8

_MOST_CLASSES = 10
_MOST_UNNAMED_CODES = 20
_LARGEST_UNNAMED_CODE = 99
_FEWEST_ROWS_OF_UNNAMED_CODES = 200
_NO_ANSWER: Final = frozenset({66, 77, 88, 96, 97, 98, 99, 666, 777, 888, 996, 997, 998, 999})
_MOST_ANSWERS = 11
_FEWEST_NO_ANSWERS = 2
_VALLEY = 1 / 3
_SHARE_OF_A_PEAK = 0.02
_MOST_FEW_CODES = 10
_ROUND = 5
_FEWEST_HOLES = 3
_FEWEST_ROWS_BESIDE_A_HOLE = 10

_FEWEST_CATALOGUED = 50
_ROWS_A_CATALOGUED_CODE = 20
_MOST_SINGLE = 0.1
_MOST_OF_A_CATALOGUE = 0.1
_SHARE_ON_THE_GRID = 0.9
_FEWEST_FALLING_GAPS = 0.1
_SPIKE = 0.5
_DECIMALS_OF_A_CODE = 2

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
    exact = _exact(fact)
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
    last = last_year(name, found, spread, of_units) if fact.whole else None
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


def are_codes(name: str, fact: Facts) -> bool:
    """Whether numbers are codes: by a public code form, leading zeros, a name of codes, few values far apart, or an unnatural distribution."""
    has_form = code_form(name, [text for text in fact.values if text not in (fact.odd or ())]) is not None
    # Programs without a missing integer write 7.0 in a column with missing values.
    has_point = fact.decimals > (fact.present < fact.rows)
    if has_form or not fact.whole or has_point:
        return has_form or _are_of_a_classification(name, fact) or _are_two_measured(fact)
    if fact.zero_led or len(fact.spread) <= _FEW_INTEGERS or _are_classes(name, fact.spread):
        return True
    sparse = fact.upper - fact.lower > _SPARSE * fact.distinct and fact.present > _ROWS_A_CODE * fact.distinct
    if names_codes(name):
        return (
            len(fact.spread) <= MOST_INTEGER_CODES
            or sparse
            or code_book(name, fact.values) is not None
            or _are_of_a_catalogue(fact)
        )
    # Few values far apart may also be amounts with a sentinel, so without a name of codes they must be long.
    if sparse and fact.upper >= _LONG_CODE:
        return True
    if names_quantity(name) or any(
        low <= fact.lower and fact.upper <= high for low, high in natural_scale(name)
    ):
        return False
    return _are_spread_like_codes(name, fact)


def _are_spread_like_codes(name: str, fact: Facts) -> bool:
    """Whether the distribution is that of codes; for the name of an amount, whether the values are three consecutive codes."""
    amount = names_amount(name)
    _, beyond = special_values(_exact(fact), fact.spread)
    spread = {value: count for value, count in fact.spread.items() if value not in beyond}
    # A small code above the answers, such as 9, is also a peak behind a valley.
    peaks = {value: count for value, count in fact.spread.items() if value not in beyond or 0 < value < BINS}
    return _are_three(spread) or (
        not amount
        and (
            _are_answers_and_refusals(fact.spread)
            or _are_two_and_missing(spread, beyond)
            or (not names_span_of_time(name) and _are_few_off_a_grid(fact))
            or _have_valleys(peaks)
            or _are_numbered_with_holes(spread)
            or _are_of_a_catalogue(fact)
        )
    )


def _are_classes(name: str, spread: Mapping[float, int]) -> bool:
    """Whether a target-like column holds consecutive codes from 0 or 1, several rows each, even in a small table."""
    values = sorted(spread)
    most = _MOST_CLASSES if names_classes(name) else _THREE if target_rank(name) is not None else 0
    return (
        len(values) <= most
        and values[0] in {0.0, 1.0}
        and values[-1] - values[0] == len(values) - 1
        and sum(spread.values()) >= _ROWS_A_CODE * len(values)
    )


def _are_of_a_classification(name: str, fact: Facts) -> bool:
    """Whether numbers with at most two decimals, such as 62.01, stand under the name of a classification, whose codes have a point."""
    return names_classification(name) and fact.lower >= 0 and fact.decimals <= _DECIMALS_OF_A_CODE


def _are_two_measured(fact: Facts) -> bool:
    """Whether the column has exactly two values, not whole, such as a standardised sex, each with enough rows for a word."""
    exact = _exact(fact)
    is_pair = not fact.whole and len(exact) == len(fact.values) == _FEW_INTEGERS
    return is_pair and min(exact.values()) >= fewest_rows(fact)


def _are_three(spread: Mapping[float, int]) -> bool:
    """Whether numbers are three consecutive ones from 0 or 1, in enough rows."""
    values = sorted(spread)
    return (
        len(values) == _THREE
        and values[0] in {0.0, 1.0}
        and values[-1] - values[0] == _FEW_INTEGERS
        and sum(spread.values()) >= _FEWEST_ROWS_OF_UNNAMED_CODES
    )


def _are_two_and_missing(spread: Mapping[float, int], beyond: Sequence[float]) -> bool:
    """Whether numbers are two values beside missing-value codes such as -9, in enough rows."""
    return (
        len(spread) <= _FEW_INTEGERS
        and bool(beyond)
        and sum(spread.values()) >= _FEWEST_ROWS_OF_UNNAMED_CODES
    )


def _are_answers_and_refusals(spread: Mapping[float, int]) -> bool:
    """Whether numbers are a few consecutive ones from 0 or 1, and at least two survey codes for "refused" or "unknown", such as 97, 98 and 99.

    The number of refusals does not matter. A single such code is a special value outside the bounds, so that the others stay a quantity.
    """
    refusals = spread.keys() & _NO_ANSWER
    answers = sorted(spread.keys() - _NO_ANSWER)
    return (
        len(refusals) >= _FEWEST_NO_ANSWERS
        and 2 <= len(answers) <= _MOST_ANSWERS  # noqa: PLR2004
        and answers[0] in {0.0, 1.0}
        and answers[-1] - answers[0] == len(answers) - 1
        and sum(spread.values()) >= _FEWEST_ROWS_OF_UNNAMED_CODES
    )


def _are_few_off_a_grid(fact: Facts) -> bool:
    """Whether numbers are few, far apart, mostly not rounded and without even steps or ratios, such as 101, 104, 207 and 310.

    As quantities, each would have a code of its own, and synthetic rows would also hold numbers between them that nobody has.
    """
    exact = _exact(fact)
    values = sorted(exact)
    if (
        not _THREE <= len(values) <= _MOST_FEW_CODES
        or values[0] < 0
        or values[-1] - values[0] < BINS
        or sum(exact.values()) < _FEWEST_ROWS_OF_UNNAMED_CODES
        or min(exact.values()) < FEWEST_ROWS_OF_A_WORD
    ):
        return False
    ordinary = [value for value in values if value not in _NO_ANSWER]
    gaps = {high - low for low, high in pairwise(ordinary)}
    ratios = {round(high / low, 6) for low, high in pairwise(ordinary) if low > 0}
    is_rounded = 2 * sum(value % _ROUND == 0 for value in values) > len(values)
    return len(ordinary) >= _THREE and not is_rounded and len(gaps) > 1 and len(ratios) > 1


def _have_valleys(spread: Mapping[float, int]) -> bool:
    """Whether few small numbers have the distribution of codes: peaks with a deep valley or a gap between them.

    Counts of things fall off, and levels of a scale rise and fall once. Survey codes are numbered in no such order.
    """
    values = sorted(spread)
    rows = sum(spread.values())
    if (
        len(values) > _MOST_UNNAMED_CODES
        or values[0] not in {0.0, 1.0}
        or values[-1] > _LARGEST_UNNAMED_CODE
        or rows < _FEWEST_ROWS_OF_UNNAMED_CODES
    ):
        return False
    even = len({high - low for low, high in pairwise(values)}) == 1
    places = values if even else range(int(values[0]), int(values[-1]) + 1)
    counts = [spread.get(float(value), 0) for value in places]
    for place in range(1, len(counts) - 1):
        peak = min(max(counts[:place]), max(counts[place + 1 :]))
        if peak >= _SHARE_OF_A_PEAK * rows and counts[place] < _VALLEY * peak:
            return True
    return False


def _are_numbered_with_holes(spread: Mapping[float, int]) -> bool:
    """Whether 21 to 60 numbers up to 99 skip single numbers between frequent ones, like state codes.

    Fewer numbers may be years of schooling, where odd ones are rare. A quantity that people round has heaps, but not on both sides of a gap.
    """
    values = sorted(spread)
    if (
        not _MOST_UNNAMED_CODES < len(values) <= MOST_INTEGER_CODES
        or values[0] < 0
        or values[-1] > _LARGEST_UNNAMED_CODE
        or sum(spread.values()) < _FEWEST_ROWS_OF_UNNAMED_CODES
    ):
        return False
    holes = [
        low
        for low, high in pairwise(values)
        if high - low == 2 and min(spread[low], spread[high]) >= _FEWEST_ROWS_BESIDE_A_HOLE  # noqa: PLR2004
    ]
    return len(holes) >= _FEWEST_HOLES


def _are_of_a_catalogue(fact: Facts) -> bool:
    """Whether numbers far apart have many rows each, like codes of industries and counties.

    A quantity has rare values between its round ones; rounded values fill their grid; gaps between the squares of whole numbers
    only grow.
    """
    exact = _exact(fact)
    values = sorted(exact)
    rows = sum(exact.values())
    singles = sum(count == 1 for count in exact.values())
    if (
        len(values) < _FEWEST_CATALOGUED
        or values[0] < 0
        or rows < _ROWS_A_CATALOGUED_CODE * len(values)
        or singles > _MOST_SINGLE * len(values)
        or max(exact.values()) > _SPIKE * rows
    ):
        return False
    # The outer twentieths of the distinct values may be rare values of any quantity.
    edge = len(values) // 20
    core = values[edge : len(values) - edge]
    within = sum(exact[value] for value in core)
    grid = next(
        step
        for step in (10_000, 5_000, 1_000, 500, 100, 50, 10, 5, 2, 1)
        if sum(exact[value] for value in core if value % step == 0) >= _SHARE_ON_THE_GRID * within
    )
    if len(core) > _MOST_OF_A_CATALOGUE * ((core[-1] - core[0]) / grid + 1):
        return False
    gaps = [high - low for low, high in pairwise(core)]
    falling = sum(after < before for before, after in pairwise(gaps))
    return falling >= _FEWEST_FALLING_GAPS * len(gaps)


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


def _exact(fact: Facts) -> dict[float, int]:
    """Counts of unrounded numbers; after thinning only of 0, which rounding keeps."""
    if fact.thinned:
        return {0.0: fact.spread[0.0]}
    return {float(text): count for text, count in fact.values.items() if text not in (fact.odd or ())}


def plain(value: float) -> float | int:
    """A number as a document writes it: whole numbers without a point."""
    return int(value) if float(value).is_integer() else value
