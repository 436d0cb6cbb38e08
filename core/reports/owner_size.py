"""How long an owner report on a domain may become: a public number, up to which every file about it is filled.

The store tells how long its objects are. A report on many columns is long, how long depends a little on what it says, and the
account of a failure is short; filled up to what the longest report on these columns would take they are alike.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from core.reports.columns import ReportColumn
from core.reports.owner_page import MAPPED

# Bytes, each above what the page writes (tests hold it against pages of many kinds).
_PAGE: Final = 64 * 1024
_COLUMN, _CODE = 8000, 45
_MAPS, _CELL, _LINE = 4, 260, 300


def most_bytes(columns: Sequence[ReportColumn]) -> int:
    """More bytes than a report on these columns takes.

    Args:
        columns: the modelled columns; all of it is declared, and so public.
    """
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
