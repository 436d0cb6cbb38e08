"""Paths as callers give them: text, or anything with a path."""

import os
from pathlib import Path

from understudy.errors import InputUnusable

AnyPath = str | os.PathLike[str]


def path_of(given: AnyPath, name: str) -> Path:
    """Return a path.

    Args:
        given: what was given.
        name: of the argument.

    Raises:
        InputUnusable: it is no path.
    """
    try:
        return Path(given)
    except TypeError:
        raise InputUnusable(
            f"{name} must be a path: text or os.PathLike, not {type(given).__name__}"
        ) from None
