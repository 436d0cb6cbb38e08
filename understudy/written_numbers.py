"""Numbers and times that a file writes as text: "$1,234.50", "12.5 %", "1.234,50", "17:45".

Intake reads plain numbers alone, so such a column would be words to a draft: left out because it has too many of them, or learnt
as words without an order. A draft says instead how to write the numbers plainly.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from understudy.frame_words import PANDAS, FrameWords


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How numbers are written.

    Attributes:
        example: Such a number, of no row.
        plain: The same as intake reads it.
        form: Of one number.
        remedy: Name of the expression of `FrameWords` that gives plain numbers.
    """

    example: str
    plain: str
    form: re.Pattern[str]
    remedy: Literal["with_point", "with_comma", "clock", "half_day", "minutes"]

    def advice(self, name: str, words: FrameWords = PANDAS) -> str:
        """What a person does before the draft, in one sentence."""
        return (
            f"write them plainly, {self.plain} for {self.example}, and draft it again (in {words.library},"
            f" {self.assignment(name, words)})"
        )

    def assignment(self, name: str, words: FrameWords = PANDAS) -> str:
        """The line that writes a column plainly."""
        return words.changed(name, getattr(words, self.remedy))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    """Numbers such as 1,234 that are whole ones with groups of thousands to one reader and fractions to another.

    Attributes:
        mark: The comma or point.
        grouping: How they are written if the mark groups thousands.
        decimal: How they are written if it comes before decimals.
    """

    mark: str
    grouping: Writing
    decimal: Writing

    def advice(self, name: str, words: FrameWords = PANDAS) -> str:
        """What a person does before the draft, in one sentence."""
        return (
            f"write them plainly, and draft it again; only you know what 1{self.mark}234 means (in {words.library},"
            f" {self.grouping.assignment(name, words)} if it is 1234, and {self.decimal.assignment(name, words)} if it is 1.234)"
        )


_SIGN: Final = r"(?:[$€£¥₹₩₺]|USD|EUR|GBP|CHF|CAD|AUD|JPY|INR|CNY|SEK|NOK|DKK|PLN|BRL|R\$|kr\.?|zł)"
# A first group of thousands is never 0: "0,577" has a decimal comma.
_POINT: Final = r"(?:[1-9][0-9]{0,2}(?:[,'’\u00a0\u202f][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_COMMA: Final = r"(?:[1-9][0-9]{0,2}(?:[.'’\u00a0\u202f][0-9]{3})+|[0-9]+)(?:,[0-9]+)?"
_SHARE: Final = 0.95


def _form(number: str) -> re.Pattern[str]:
    return re.compile(rf"[-+]?\s?{_SIGN}?\s?[-+]?{number}\s?(?:{_SIGN}|%)?")


_WITH_POINT: Final = Writing(
    example="$1,234.50 or 12.5%",
    plain="1234.50 or 12.5",
    form=_form(_POINT),
    remedy="with_point",
)
_WITH_COMMA: Final = Writing(
    example="1.234,50 or 12,5 %",
    plain="1234.50 or 12.5",
    form=_form(_COMMA),
    remedy="with_comma",
)
_CLOCKS: Final = (
    Writing(
        example="17:45",
        plain="1745",
        form=re.compile(r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"),
        remedy="clock",
    ),
    Writing(
        example="5:45 PM",
        plain="1745",
        form=re.compile(r"(?:0?[1-9]|1[0-2]):[0-5][0-9]\s?[AaPp][Mm]"),
        remedy="half_day",
    ),
    Writing(
        example="36:15",
        plain="2175",
        form=re.compile(r"[0-9]{1,4}:[0-5][0-9]"),
        remedy="minutes",
    ),
)
"""Times of the day, as a draft reads them from whole numbers; and lengths of time, in their smaller unit."""


def writing_of(texts: Collection[str]) -> Writing | Ambiguous | None:
    """Find how the numbers of a column are written that holds hardly anything else; None where they are plain, or none.

    Args:
        texts: The distinct values.
    """
    if not any(map(_is_marked, texts)):
        return None
    for writing in _CLOCKS:
        if _share(writing, texts) >= _SHARE:
            return writing
    with_point, with_comma = _share(_WITH_POINT, texts), _share(_WITH_COMMA, texts)
    if max(with_point, with_comma) < _SHARE:
        return None
    if with_point == with_comma and any("," in text for text in texts):
        return Ambiguous(mark=",", grouping=_WITH_POINT, decimal=_WITH_COMMA)
    if with_point == with_comma and any("." in text for text in texts):
        return Ambiguous(mark=".", grouping=_WITH_COMMA, decimal=_WITH_POINT)
    return _WITH_POINT if with_point >= with_comma else _WITH_COMMA


def _share(writing: Writing, texts: Collection[str]) -> float:
    """The share of texts that are written so."""
    return sum(writing.form.fullmatch(text) is not None for text in texts) / len(texts)


def _is_marked(text: str) -> bool:
    """Whether something stands in a text that no plain number has."""
    return re.search(rf"[,:%'’\u00a0\u202f]|{_SIGN}", text) is not None
