"""Suggestions for names that are nearly one of the known ones."""

from collections.abc import Sequence
from difflib import get_close_matches


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return "; did you mean 'x'?" for a name that is nearly one of the known ones, else nothing."""
    close = nearest(name, names)
    return f"; did you mean {close!r}?" if close else ""


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Return the known name that is nearly the written one, or None."""
    lowered = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.75)
    return lowered[close[0]] if close else None
