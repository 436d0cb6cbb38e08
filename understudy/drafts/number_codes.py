"""Whether numbers are codes, such as those of industries or answers, and no amounts.

The rules use names and the distribution of the values; they are public and the same for every table. They decide what a draft proposes; a person
decides what is declared.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from understudy.drafts.bin_costs import BINS
from understudy.drafts.bounds import special_values
from understudy.drafts.facts import Facts
from understudy.drafts.numbers import FEWEST_ROWS_OF_A_WORD, MOST_INTEGER_CODES, exact_counts, fewest_rows
from understudy.drafts.words import (
    code_book,
    code_form,
    names_amount,
    names_classes,
    names_classification,
    names_codes,
    names_quantity,
    names_span_of_time,
    natural_scale,
    target_rank,
)

_FEW_INTEGERS, _THREE = 2, 3
_ROWS_A_CODE = 5
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
    _, beyond = special_values(exact_counts(fact), fact.spread)
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
    """Whether the column is named like a classification, whose codes may have a point, and has at most two decimals, such as 62.01."""
    return names_classification(name) and fact.lower >= 0 and fact.decimals <= _DECIMALS_OF_A_CODE


def _are_two_measured(fact: Facts) -> bool:
    """Whether the column has exactly two values, not whole, such as a standardised sex, each with enough rows for a word."""
    exact = exact_counts(fact)
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
    exact = exact_counts(fact)
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
    exact = exact_counts(fact)
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
