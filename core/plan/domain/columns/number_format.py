"""How a file writes the numbers of one column for people: "1,234.50", "1.234,50 €", "4.5 %", "17:45".

The format is declared and public. A text of another form is no number and never guessed: where a comma groups thousands, "1,5" is
unreadable. A plain number such as 1234.5 is one in every format. Each text is read by itself, so a row says nothing about another.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from core.plan.domain.reading import Node

GROUPING: Final[dict[str, str]] = {",": ",", ".": ".", "'": "'’", " ": " \u00a0\u202f"}
"""Signs between groups of thousands, by the one that declares them."""
MOST_AFFIXES: Final = 16
LONGEST_AFFIX: Final = 16
_BLANKS: Final = " \u00a0\u202f"
_IN_NUMBERS: Final = ".," + "".join(GROUPING.values())
"""Signs of a number: an affix of these alone could not be distinguished from its decimal mark."""
_NO_NUMBER: Final = "_"
_CLOCK: Final = r"^(?P<large>[0-9]{1,4}):(?P<small>[0-5][0-9])(?::[0-5][0-9](?:\.[0-9]+)?)?[ \x{00a0}\x{202f}]?(?P<half>[AaPp][Mm])?$"
_PLAIN: Final = r"^[+-]?[0-9]+(?:\.[0-9]+)?$"
_HALF_DAY: Final = 12


@dataclass(frozen=True, kw_only=True)
class NumberFormat:
    """The format of the numbers of one column.

    Attributes:
        thousands: The sign between groups of three digits, a key of `GROUPING`; None where there is none.
        decimal_mark: The point or comma before decimals; None for that of the file.
        affixes: Texts that may stand before or after a number, such as "%" and "EUR". They are dropped.
        clock: Whether numbers have a colon: 17:45 is 17 times 60 plus 45.
    """

    thousands: str | None = None
    decimal_mark: str | None = None
    affixes: tuple[str, ...] = ()
    clock: bool = False

    @classmethod
    def from_node(cls, node: Node) -> Self:
        """Read the object "number_format" of a column.

        Raises:
            DomainInvalid: a key is unknown or has a wrong value.
        """
        found = cls(
            thousands=node.take_choice("thousands", GROUPING) if node.has("thousands") else None,
            decimal_mark=node.take_choice("decimal_mark", (".", ",")) if node.has("decimal_mark") else None,
            affixes=node.take_texts("affixes", ()),
            clock=node.take_flag("clock", default=False),
        )
        if len(found.affixes) > MOST_AFFIXES:
            node.refuse(f"At most {MOST_AFFIXES} affixes are possible.", "too-many-affixes", key="affixes")
        for index, affix in enumerate(found.affixes):
            if (
                affix.strip() != affix
                or not affix
                or len(affix) > LONGEST_AFFIX
                or re.search(r"[0-9+-]", affix)
                or not affix.strip(_IN_NUMBERS)
            ):
                node.refuse(
                    f"An affix has 1 to {LONGEST_AFFIX} signs, none of them a digit, '+' or '-', one that stands in no number, and no blank at its ends.",
                    "bad-affix",
                    key=f"affixes/{index}",
                )
        if found.clock and found != cls(clock=True):
            node.refuse("Numbers with a colon have no other format.", "clock-beside-format", key="clock")
        if found.thousands is not None and found.thousands == found.decimal_mark:
            node.refuse(
                "One sign cannot both group thousands and begin decimals.", "bad-thousands", key="thousands"
            )
        node.finish()
        if found == cls():
            node.refuse(
                "A format says how numbers are written.", "empty-format", remedy="Leave out 'number_format'."
            )
        return found

    def to_json(self) -> dict[str, object]:
        """The object without defaults."""
        found = {
            "thousands": self.thousands,
            "decimal_mark": self.decimal_mark,
            "affixes": list(self.affixes),
        }
        return {key: value for key, value in (found | {"clock": self.clock}).items() if value}

    def plain(self, texts: pa.Array, *, decimal_mark: str) -> pa.Array:
        """Numbers as plain text with a decimal point; texts that are none in this format stay unreadable.

        Args:
            texts: Strings, possibly null.
            decimal_mark: Of the file.
        """
        if self.clock:
            return _minutes(texts)
        mark = self.decimal_mark or _other(decimal_mark, self.thousands)
        is_number = pc.match_substring_regex(texts, self._pattern(mark))
        found = pc.replace_substring_regex(texts, self._dropped, "")
        if mark == ",":
            found = pc.replace_substring(found, ",", ".")
        return pc.if_else(is_number, found, _NO_NUMBER)

    def expressions(self, *, decimal_mark: str) -> dict[str, object]:
        """The rules of `plain` for readers without Arrow: whether numbers have a colon, the pattern of a number, the characters removed, the decimal mark.

        Args:
            decimal_mark: Of the file.
        """
        mark = self.decimal_mark or _other(decimal_mark, self.thousands)
        return {
            "clock": self.clock,
            "is_number": self._pattern(mark),
            "dropped": self._dropped,
            "mark": mark,
        }

    def _pattern(self, mark: str) -> str:
        whole = "[0-9]+"
        if self.thousands is not None:
            # A first group of thousands is never 0: 0,577 is a fraction.
            whole = f"(?:[1-9][0-9]{{0,2}}(?:[{_escaped(GROUPING[self.thousands])}][0-9]{{3}})+|[0-9]+)"
        affix = "|".join(map(_escaped, self.affixes))
        before, after = (
            (f"(?:(?:{affix})[{_BLANKS}]?)?", f"(?:[{_BLANKS}]?(?:{affix}))?") if affix else ("", "")
        )
        return f"^(?:[+-][{_BLANKS}]?)?{before}[+-]?{whole}(?:{_escaped(mark)}[0-9]+)?{after}$"

    @cached_property
    def _dropped(self) -> str:
        """The pattern of the characters that are removed from a number."""
        grouping = "" if self.thousands is None else GROUPING[self.thousands]
        return "|".join(
            [*map(_escaped, sorted(self.affixes, key=len, reverse=True)), f"[{_escaped(grouping + _BLANKS)}]"]
        )


def _other(mark: str, thousands: str | None) -> str:
    """The mark before decimals: that of the file, or the one that is left where that sign groups thousands."""
    return {".": ",", ",": "."}[mark] if mark == thousands else mark


def _escaped(text: str) -> str:
    """A text in an expression of RE2, also in brackets."""
    return "".join(sign if sign.isalnum() or ord(sign) > 127 else f"\\x{ord(sign):02x}" for sign in text)  # noqa: PLR2004 - ASCII


def _minutes(texts: pa.Array) -> pa.Array:
    """The sixtieths of texts such as 17:45 and 5:45 PM; plain numbers stay."""
    parts = pc.extract_regex(texts, _CLOCK)
    large, small, half = (pc.struct_field(parts, name) for name in ("large", "small", "half"))
    large = pc.cast(large, pa.int64())
    half = pc.utf8_lower(half)
    is_half = pc.is_in(half, value_set=pa.array(["am", "pm"]))
    of_day = pc.add(
        pc.if_else(pc.equal(large, _HALF_DAY), 0, large), pc.if_else(pc.equal(half, "pm"), _HALF_DAY, 0)
    )
    hours = pc.if_else(is_half, of_day, large)
    is_time = pc.if_else(
        is_half, pc.and_(pc.greater(large, 0), pc.less_equal(large, _HALF_DAY)), pc.is_valid(large)
    )
    minutes = pc.cast(pc.add(pc.multiply(hours, 60), pc.cast(small, pa.int64())), pa.string())
    is_plain = pc.match_substring_regex(texts, _PLAIN)
    found = pc.if_else(
        pc.fill_null(is_time, fill_value=False), minutes, pc.if_else(is_plain, texts, _NO_NUMBER)
    )
    return pc.if_else(pc.is_valid(texts), found, None)
