"""Make untrusted text, such as names, purposes and files of others, safe to show in a terminal."""

import unicodedata
from decimal import Decimal
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Unicode categories of control characters, line separators and changes of text direction."""


def plain(text: str) -> str:
    """Escape control characters by their number; line ends and tabs stay."""
    return _shown(text, but="\n\t")


def one_line(text: str) -> str:
    """Escape line ends too, so that untrusted text cannot pass for a line of ours."""
    return _shown(text, but="\t")


def plain_number(value: float, digits: int) -> str:
    """A number to some significant digits, without an exponent."""
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def _shown(text: str, *, but: str) -> str:
    return "".join(
        f"\\u{ord(letter):04x}" if unicodedata.category(letter) in _UNSEEN and letter not in but else letter
        for letter in text
    )
