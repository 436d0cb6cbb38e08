"""What is planted in private rows, how it could be spelled anywhere, and how it is looked for.

The number of rows is unusual and has six digits. Ids, hashes and times are blanked before numbers are looked for, because they
hold any digits by chance; what is left finds the count in every spelling and never by accident: fewer than a hundred
numbers of six digits that are not constants are looked at in a run, and none of them is random.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Final

WARD: Final = "cAnArY7f3aWard"
"""A category that was not declared."""
PERSON: Final = "cAnArY7f3aPerson"
"""Begins the names of all persons: of a column that names the privacy units."""
NUMBER: Final = "4862.731905"
"""A value beyond the declared bounds."""
TEXTS: Final = (WARD, PERSON, NUMBER)
COUNT: Final = 103_963
"""How many rows are accepted."""

_DIGITS: Final = str(COUNT)
_GROUPS: Final = r"[,.'_ \u00a0\u2009\u202f]?"
_SPELLINGS: Final = re.compile(
    "|".join(
        [
            rf"(?<![0-9A-Za-z])(?<!\d\.){_DIGITS[:3]}{_GROUPS}{_DIGITS[3:]}(?:\.0+)?(?![0-9A-Za-z])",
            r"(?<![0-9A-Za-z.])1\.039630*[eE]\+?0?5(?![0-9])",
            rf"(?<![0-9A-Za-z])(?:0[xX])?0*(?:{COUNT:x}|{COUNT:X})(?![0-9A-Za-z])",
            rf"(?<![0-9A-Za-z])0o?{COUNT:o}(?![0-9])",
        ]
    )
)
_BY_CHANCE: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids
    r"|[0-9A-Fa-f]{12,}"  # hashes, digests, opaque labels, ids without dashes
    r"|us_[0-9a-f]{8}_\S+"  # keys
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?"  # times
    r"|\d+\.\d{7,}(?:e-?\d+)?"  # computed numbers; a count is none
    r'|"milliseconds": \d+|"pid": \d+'
    r"|[A-Za-z0-9+/_-]{40,}={0,2}"  # signatures and keys in base64
)
_BINARY: Final = tuple(
    struct.pack(form, value) for form, value in (("<q", COUNT), (">q", COUNT), ("<d", COUNT), (">d", COUNT))
)
"""As 64-bit numbers. Four bytes are found by chance in a weight file of a megabyte about once in 4,000 runs."""


def in_text(text: str) -> list[str]:
    """Every canary in a text: the planted words, and the number of rows in any spelling."""
    found = [word for word in TEXTS if word.lower() in text.lower()]
    blanked = _BY_CHANCE.sub(" ", text)
    return found + [match[0] for match in _SPELLINGS.finditer(blanked)]


def in_bytes(content: bytes) -> list[str]:
    """Every canary in bytes: the words in two encodings, the number as a 64-bit number, and what UTF-8 text spells."""
    found = [
        word for word in TEXTS for coded in (word.encode(), word.encode("utf-16-le")) if coded in content
    ]
    found += [f"the count as {form.hex()}" for form in _BINARY if form in content]
    try:
        return found + in_text(content.decode())
    except UnicodeDecodeError:
        return found


def found_in(things: Iterable[tuple[str, str | bytes]]) -> Iterator[tuple[str, str]]:
    """Where which canary was found, of named texts and bytes."""
    for name, content in things:
        hits = in_text(content) if isinstance(content, str) else in_bytes(content)
        for hit in hits + in_text(name):
            yield name, hit
