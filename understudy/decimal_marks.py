"""Files whose numbers have a decimal comma, as spreadsheets write them in much of Europe."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from understudy.table_facts import ODD, Facts

MARKS: Final = (".", ",")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")
_GROUPED: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
"""A whole number with groups of thousands to one reader, and a fraction to another."""


def columns_with_commas(facts: Mapping[str, Facts]) -> list[str]:
    """The columns that are numbers if commas come before decimals.

    Args:
        facts: Of all columns, whose commas were read as they are.
    """
    return [
        name
        for name, fact in facts.items()
        if fact.readable and not fact.numeric and _are_numbers(fact.values)
    ]


def guess_mark(facts: Mapping[str, Facts], *, delimiter: str) -> str:
    """Whether a file's numbers have a decimal comma: some do, none has a point, and fields are not separated by commas.

    A field such as "1,2" of a file of commas may be two answers. Numbers that could all have groups of thousands say nothing.
    """
    has_points = any(fact.numeric and fact.decimals > 0 for fact in facts.values())
    if delimiter == "," or has_points:
        return "."
    says = any(
        "," in text and _NUMBER.fullmatch(text) and not _GROUPED.fullmatch(text)
        for name in columns_with_commas(facts)
        for text in facts[name].values
    )
    return "," if says else "."


def _are_numbers(texts: Collection[str]) -> bool:
    """Whether texts are numbers, some with a comma, but for words that mean "missing" among numbers."""
    others = [text for text in texts if _NUMBER.fullmatch(text) is None]
    return (
        any("," in text for text in texts)
        and all(text.lower() in ODD for text in others)
        and len(others) < len(texts)
    )
