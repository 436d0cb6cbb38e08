"""Words beside numbers in one column: missing values, or levels, codes or dates like the numbers."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Final

from understudy.drafts.facts import Facts, is_open_ended, means_missing
from understudy.drafts.levels import ordered
from understudy.drafts.number_codes import are_codes
from understudy.drafts.numbers import LARGEST, MOST_INTEGER_CODES, fewest_rows
from understudy.drafts.persons import names_contact
from understudy.drafts.times import is_mostly_time
from understudy.plain_text import plain_number

_FEWEST_MEASURED: Final = 3
"""Minimum distinct numbers of a measurement."""


def has_words_like_numbers(name: str, fact: Facts) -> bool:
    """Whether words beside numbers are levels, codes, dates or telephone numbers like these, not missing values."""
    if not fact.numeric or not fact.odd:
        return False
    if fact.distinct <= MOST_INTEGER_CODES and ordered(fact.values) is not None:
        return True
    return bool(fact.unknown) and (
        names_contact(name)
        or are_codes(name, fact)
        or is_mostly_time(fact)
        or any(_is_code(word) and count >= fewest_rows(fact) for word, count in fact.unknown.items())
    )


def _is_code(word: str) -> bool:
    """Whether a word among numbers has digits and no open end, such as V57 beside 428; rare ones are typing errors."""
    return not is_open_ended(word) and any(sign.isdigit() for sign in word)


def missing_words(facts: Mapping[str, Facts]) -> set[str]:
    """Words that mean "missing" among numbers and occur in no column of words: publicly known ones, and frequent ones."""
    found = set[str]()
    for fact in facts.values():
        if fact.numeric:
            words = fact.odd or Counter[str]()
            fewest = fewest_rows(fact)
            found |= {word for word, count in words.items() if means_missing(word) or count >= fewest}
    meant = {word for fact in facts.values() if not fact.numeric for word in found if word in fact.values}
    return found - meant


def may_be_measured(name: str, fact: Facts) -> bool:
    """Whether numbers drafted as words, beside a few other words, may measure something."""
    if not fact.odd or fact.numeric or 2 * fact.numbers < fact.present:
        return False
    return (
        len(fact.spread) >= _FEWEST_MEASURED
        and max(-fact.lower, fact.upper) <= LARGEST
        and not is_mostly_time(fact)
        and not are_codes(name, fact)
    )


def or_measured(fact: Facts) -> str:
    """The note on modelling such numbers."""
    listed = ", ".join(json.dumps(word, ensure_ascii=False) for word in sorted(fact.odd or ()))
    return (
        f"Most values are numbers: give its kind as 'numeric' to model these, and count {listed} as missing."
    )


def words_note(fact: Facts) -> str:
    """The note on values outside a limit of measurement and on other words among numbers; empty if there are none."""
    notes = []
    if censored := fact.censored:
        notes.append(
            f"{_shared(censored, fact)} count as missing: to keep them as values outside the limits of measurement, replace them by a number beforehand, such as half"
            " the limit."
        )
    if others := fact.unknown - censored:
        notes.append(
            f"{_shared(others, fact)} count as missing, because the other values are numbers: if such a word means a number, write that number"
            " beforehand."
        )
    return " ".join(notes)


def _shared(words: Mapping[str, int], fact: Facts) -> str:
    """Words, and their share of the values."""
    listed = ", ".join(json.dumps(word, ensure_ascii=False)[1:-1] for word in sorted(words))
    return f"{listed} ({plain_number(100 * sum(words.values()) / fact.present, 2)} % of the values)"
