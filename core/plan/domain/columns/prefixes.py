"""Shortened words: a code such as E11.9 counts as its first characters, where its column declares so.

Needs the standard library alone: the script of a model's bundle holds a copy.
"""

import re

LETTERS = "letters"
"""The prefix that ends before the first sign that is no ASCII letter: LS of LS6 2AB."""
LEADING_LETTERS = re.compile("[A-Za-z]+")


def shortened(text: str, prefix: int | str | None) -> str:
    """The first characters of a text, or the letters at its beginning; a text that is shorter, or begins with no letter, is unchanged."""
    if prefix is None:
        return text
    if prefix == LETTERS:
        found = LEADING_LETTERS.match(text)
        return text if found is None else found[0]
    return text[: int(prefix)]
