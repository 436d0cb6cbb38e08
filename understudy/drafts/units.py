"""The privacy unit that a draft proposes, and columns that say whose row it is or name a person."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Final

from understudy.drafts.facts import Facts
from understudy.drafts.persons import (
    are_emails,
    are_phones,
    is_number_of_one,
    may_reach,
    names_a_lone_key,
    names_a_person,
    names_contact,
    names_whom,
    reaches,
)
from understudy.drafts.times import is_time
from understudy.drafts.words import (
    are_keys,
    are_pseudonyms,
    code_book,
    names_a_key,
    names_amount,
    names_moment,
    names_outcome,
    names_postcode,
    names_quantity,
    names_span_of_time,
    natural_scale,
)

FEWEST_IDS: Final = 20
"""Distinct values that identifiers have at least."""
_FEWEST_EVEN: Final = 100
_SLICES: Final = 10
_MOST_OF_ONE: Final = 20.0
"""How often the most frequent number may occur, as a multiple of the mean."""
_DEVIATIONS: Final = 4.0
_ROUNDING: Final = 0.05
_MINUTES: Final = 60
_UNEVEN: Final = 2.0
"""How much farther or closer than on average values may lie in a slice."""
_FEW_ROWS: Final = 5.0
_FEW_NUMBERS: Final = 1000
_NEAR_CHANCE: Final = 0.8
SEVERAL: Final = 1.1
"""Rows of a unit on average from which a table is one of events."""
_FEWEST_NAMES: Final = 3
_DIRECT: Final = "Called like something that names or reaches a person: dropped on arrival."


def propose_unit(facts: Mapping[str, Facts]) -> tuple[str | None, list[str]]:
    """Find the column that says whose record it is, and the columns that may say it instead."""
    keys = {name: fact for name, fact in facts.items() if may_be_key(fact)}
    persons = [name for name, fact in keys.items() if names_a_person(name, fact.values, numeric=fact.numeric)]
    if persons:
        return max(persons, key=lambda name: keys[name].distinct), []
    reached: dict[int, list[str]] = {}
    for name, fact in keys.items():
        if (how := reaches(name, fact.values, numeric=fact.numeric)) is not None:
            reached.setdefault(how, []).append(name)
    pseudonyms = [name for name, fact in keys.items() if are_pseudonyms(fact.values)]
    lone = [name for name in keys if names_a_lone_key(name)]
    known = {*pseudonyms, *lone, *(name for names in reached.values() for name in names)}
    surest = reached[min(reached)] if reached else pseudonyms or lone
    # A telephone number of few rows may be that of a switchboard.
    if len(surest) == 1 and (not reached or _repeats(keys[surest[0]])):
        return surest[0], []
    return None, [name for name, fact in keys.items() if name in known or _may_say_whose(name, fact)]


def _may_say_whose(name: str, fact: Facts) -> bool:
    """Whether the values of a column may say whose row it is, or name things that many rows have; places and diagnoses never do."""
    if names_postcode(name) or code_book(name, fact.values) is not None:
        return False
    return (
        names_a_key(name)
        or (are_keys(fact.values) and not names_contact(name))
        or repeats_like_keys(name, fact)
        or (_repeats(fact) and may_reach(name, fact.values, numeric=fact.numeric))
    )


def _repeats(fact: Facts) -> bool:
    """Whether a value of a column stands in several rows, and not in two by chance or by mistake."""
    return fact.present >= SEVERAL * fact.distinct


def identifying(name: str, fact: Facts) -> str | None:
    """Why the words or numbers of a column may identify a person; None where they do not."""
    if is_number_of_one(name, fact.values):
        return _DIRECT
    if fact.numeric:
        return None
    # Names of persons, however few; truth values are none.
    are_names = names_whom(name) and fact.distinct >= _FEWEST_NAMES
    if are_emails(fact.values) or (names_contact(name) and are_phones(fact.values)) or are_names:
        return _DIRECT
    # Of few rows as well: ten names of ten persons are no words that everybody knows.
    if names_contact(name) and (fact.distinct >= FEWEST_IDS or 2 * fact.distinct > fact.present):
        return _DIRECT
    if fact.distinct >= FEWEST_IDS and are_pseudonyms(fact.values):
        return "Identifiers that repeat: they stand for persons or things, and say nothing else."
    return None


def repeats_like_keys(name: str, fact: Facts) -> bool:
    """Whether whole numbers are numbers of persons or things under a name that does not say so, such as readers' numbers under "reader".

    Few rows have very small or very large values of a quantity, so these are rare and lie far apart. Numbers of persons are neither.
    So the values are put in order and cut into slices: their mean counts must differ by no more than chance makes them differ, and
    their values must lie about equally close. No value may be far more frequent than the others. Fewer than a thousand
    values of few rows each differ so much by chance that this shows little: those that repeat as often as any of their range would are measurements.
    """
    if not (may_be_key(fact) and fact.numeric and not fact.odd) or fact.lower < 0:
        return False
    if (
        names_quantity(name)
        or names_amount(name)
        or natural_scale(name)
        or names_moment(name)
        or names_span_of_time(name)
        or names_outcome(name)
    ):
        return False
    found = sorted((float(text), count) for text, count in fact.values.items())
    values, counts = [value for value, _ in found], [count for _, count in found]
    each = fmean(counts)
    if all(value % 100 < _MINUTES for value in values):  # hours and minutes, such as 1745
        return False
    if len(counts) < _FEWEST_EVEN or each < SEVERAL or max(counts) > _MOST_OF_ONE * each:
        return False
    if len(values) < _FEW_NUMBERS and each < _FEW_ROWS and _repeat_as_by_chance(values, rows=sum(counts)):
        return False
    size = len(counts) // _SLICES
    slices = [slice(place * size, (place + 1) * size) for place in range(_SLICES)]
    by_chance = _DEVIATIONS * pstdev(counts) / math.sqrt(size) + _ROUNDING * each
    gaps = [values[part.stop - 1] - values[part.start] for part in slices]
    return (
        all(abs(fmean(counts[part]) - each) <= by_chance for part in slices)
        and max(gaps) <= _UNEVEN * fmean(gaps)
        and _UNEVEN * min(gaps) >= fmean(gaps)
    )


def _repeat_as_by_chance(values: Sequence[float], *, rows: int) -> bool:
    """Whether as many sorted whole numbers differ as if each row had drawn one from their range, and some of it is left out."""
    step = math.gcd(*(int(high - low) for low, high in pairwise(values)))
    possible = (values[-1] - values[0]) / step + 1
    drawn = possible * -math.expm1(-rows / possible)
    return _NEAR_CHANCE * drawn <= len(values) < possible


def may_be_key(fact: Facts) -> bool:
    """Whether many values of a column repeat and none is a measurement."""
    return (
        fact.readable
        and not is_time(fact)
        and fact.distinct >= FEWEST_IDS
        and not fact.unique
        and (fact.whole or not fact.numeric)
    )
