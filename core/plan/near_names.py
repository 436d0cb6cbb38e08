"""A known name that an unknown one nearly is, for the remedy of a refusal."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Final

LONGEST: Final = 200
"""Characters of a name that is compared; time and memory of a comparison grow with them, and documents come from strangers."""
MOST: Final = 5_000
"""Known names that are compared at most."""


def nearest(name: object, names: Iterable[str]) -> str | None:
    """Return the known name that is nearest to an unknown one, or None if none is near or the unknown one is no short text."""
    if not isinstance(name, str) or len(name) > LONGEST:
        return None
    known = sorted(one for one in islice(names, MOST) if len(one) <= LONGEST)
    close = get_close_matches(name, known, n=1, cutoff=0.75)
    return close[0] if close else None
