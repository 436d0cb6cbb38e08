"""Text that a spreadsheet runs as a formula when it opens a CSV file.

A spreadsheet decides by the first character of a cell. A leading apostrophe marks it as text. A plain number, such as the
category "-1", is no formula and is unchanged.
"""

import re
from typing import Final

from core.plan.domain.columns.kinds import LabelColumn
from core.plan.domain.declared import Domain
from core.plan.domain.images import ImageDomain

_FIRST: Final = ("=", "+", "-", "@", "\t", "\r")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def runs_as_formula(text: str) -> bool:
    """Whether a spreadsheet may run a cell of this text."""
    return text.startswith(_FIRST) and _NUMBER.fullmatch(text) is None


def plain_cell(text: str) -> str:
    """The text, escaped so that no spreadsheet runs it."""
    return f"'{text}" if runs_as_formula(text) else text


def formula_places(domain: Domain) -> tuple[str, ...]:
    """JSON pointers into the declared document: names and columns with words that a spreadsheet may run as formulas."""
    if isinstance(domain, ImageDomain):
        return ("/labels",) if any(map(runs_as_formula, domain.labels)) else ()
    return tuple(
        f"/columns/{place}"
        for place, column in enumerate(domain.columns)
        if runs_as_formula(column.name)
        or (isinstance(column, LabelColumn) and any(map(runs_as_formula, column.words)))
    )
