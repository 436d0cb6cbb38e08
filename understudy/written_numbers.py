"""Numbers that a file writes as text: "$1,234.50", "12.5 %", "1.234,50".

Intake reads plain numbers alone, so such a column would be words to a draft: left out because it has too many of them, or learnt
as words without an order. A draft says instead how to write the numbers plainly.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How numbers are written.

    Attributes:
        example: Such a number, of no row.
        plain: The same as intake reads it.
        form: Of one number.
        remedy: Calls of a pandas column of text that give plain numbers.
    """

    example: str
    plain: str
    form: re.Pattern[str]
    remedy: str

    def advice(self, name: str) -> str:
        """What a person does before the draft, in one sentence."""
        column = f"frame[{name!r}]"
        return f"write them plainly, {self.plain} for {self.example}, and draft that file (in pandas, {column} = {column}{self.remedy})"


_SIGN: Final = r"(?:[$€£¥₹₩₺]|USD|EUR|GBP|CHF|CAD|AUD|JPY|INR|CNY|SEK|NOK|DKK|PLN|BRL|R\$|kr\.?|zł)"
_POINT: Final = r"(?:[0-9]{1,3}(?:[,'’\u00a0\u202f][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_COMMA: Final = r"(?:[0-9]{1,3}(?:[.'’\u00a0\u202f][0-9]{3})+|[0-9]+)(?:,[0-9]+)?"
_SHARE: Final = 0.95


def _form(number: str) -> re.Pattern[str]:
    return re.compile(rf"[-+]?\s?{_SIGN}?\s?[-+]?{number}\s?(?:{_SIGN}|%)?")


_WRITINGS: Final = (
    Writing(
        example="$1,234.50 or 12.5%",
        plain="1234.50 or 12.5",
        form=_form(_POINT),
        remedy=".str.replace('[^0-9.-]', '', regex=True).astype(float)",
    ),
    Writing(
        example="1.234,50 or 12,5 %",
        plain="1234.50 or 12.5",
        form=_form(_COMMA),
        remedy=".str.replace('[^0-9,-]', '', regex=True).str.replace(',', '.').astype(float)",
    ),
)


def writing_of(texts: Collection[str]) -> Writing | None:
    """Find how the numbers of a column are written that holds hardly anything else; None where they are plain, or none.

    Args:
        texts: The distinct values.
    """
    if not any(map(_is_marked, texts)):
        return None
    for writing in _WRITINGS:
        if sum(writing.form.fullmatch(text) is not None for text in texts) >= _SHARE * len(texts):
            return writing
    return None


def _is_marked(text: str) -> bool:
    """Whether something stands in a text that no plain number has."""
    return re.search(rf"[,%'’\u00a0\u202f]|{_SIGN}", text) is not None
