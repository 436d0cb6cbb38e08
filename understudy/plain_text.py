"""Text that other people wrote, as it may be shown in a terminal: names, purposes, what stands in a stranger's file."""

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Unicode categories of what steers a terminal, ends a line, or turns the direction of text around."""


def plain(text: str) -> str:
    """Show what steers a terminal as its number; ends of lines and tabs stay.

    Args:
        text: the text.
    """
    return _shown(text, but="\n\t")


def one_line(text: str) -> str:
    """Likewise with ends of lines, so that nobody's text passes for a line of ours.

    Args:
        text: the text.
    """
    return _shown(text, but="\t")


def _shown(text: str, *, but: str) -> str:
    return "".join(
        f"\\u{ord(letter):04x}" if unicodedata.category(letter) in _UNSEEN and letter not in but else letter
        for letter in text
    )
