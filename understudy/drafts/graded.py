"""Whole numbers that are levels in a draft: stages, grades, bands and the like.

A level has the same code as a number with a bin of its own, so levels change neither cost nor accuracy. They say that a mean has no meaning.
"""

from typing import Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.facts import Facts
from understudy.drafts.numbers import numbers
from understudy.drafts.words import counts_things, names_amount, names_levels, natural_scale

_FEWEST, _MOST = 3, 11
_ROWS_A_LEVEL = 5
_BY_NAME: Final = "Levels in order, by the column's name and its few whole numbers in a row. If they count or measure something, give its kind as 'numeric'."
_MAY_BE: Final = "If these are grades or answers and no count, the kind 'ordinal' says so, at the same cost."


def graded(name: str, fact: Facts) -> dict[str, Any] | None:
    """Draft levels of whole numbers in a row from 0 or 1 under a name of levels; None for other numbers.

    The outermost levels are those at which bounds would lie, so none is a single row's.
    """
    if not names_levels(name) or not fact.whole or fact.zero_led or fact.censored:
        return None
    texts = sorted((text for text in fact.values if text not in (fact.odd or ())), key=float)
    values = [float(text) for text in texts]
    if not _are_in_a_row(values) or sum(fact.spread.values()) < _ROWS_A_LEVEL * len(values):
        return None
    column = numbers(name, fact)
    if column.get("specials") or (column["lower"], column["upper"]) != (values[0], values[-1]):
        return None
    return {"kind": "ordinal", "levels": texts, NOTE: _BY_NAME}


def may_be_graded(name: str, column: dict[str, Any]) -> str:
    """A sentence on levels for the note of numbers that may be grades or answers; empty for others."""
    if column["kind"] != "numeric" or column["type"] != "integer" or "bins" in column or "edges" in column:
        return ""
    values = range(int(column["lower"]), int(column["upper"]) + 1)
    is_other = counts_things(name) or names_amount(name) or natural_scale(name)
    return "" if is_other or not _are_in_a_row(values) else _MAY_BE


def _are_in_a_row(values: Any) -> bool:  # noqa: ANN401 - whole numbers of either type, in order
    return (
        _FEWEST <= len(values) <= _MOST and values[0] in {0, 1} and values[-1] - values[0] == len(values) - 1
    )
