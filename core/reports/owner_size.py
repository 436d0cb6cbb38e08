"""An upper bound on the length of an owner report, from public facts: every file is padded to it.

The store reveals the length of its objects. A report's length depends on its columns and slightly on its
contents, and an account of a failure is short; padded to the bound for these columns they are
indistinguishable.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from core.reports.columns import ReportColumn
from core.reports.owner_page import MAPPED

# Bytes, each above what the page writes (tests compare with pages of many kinds).
_PAGE: Final = 64 * 1024
_COLUMN, _CODE = 8000, 45
_MAPS, _CELL, _LINE = 4, 260, 300


def most_bytes(columns: Sequence[ReportColumn]) -> int:
    """Upper bound on the bytes of a report on these columns, from public facts only."""
    names = sorted((_length(column.name) for column in columns), reverse=True)
    mapped = names[:MAPPED]
    count = len(mapped)
    cells = _CELL * count**2 + _LINE * count + 2 * count * sum(mapped)
    plots = sum(
        _COLUMN + _CODE * column.codes + 4 * _length(column.name) + 2 * sum(map(_length, column.words))
        for column in columns
    )
    return _PAGE + _MAPS * cells + plots


def _length(text: str) -> int:
    return len(escape(text).encode())
