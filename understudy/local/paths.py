"""Paths as callers give them, and bundles written to them."""

import os
from pathlib import Path

from understudy.errors import InputUnusable
from understudy.whole_files import whole_file

AnyPath = str | os.PathLike[str]


def write_bundle(bundle: bytes, target: AnyPath) -> Path:
    """Write a bundle to a file, whole or not at all.

    Raises:
        InputUnusable: there is no folder to write it to.
    """
    file = Path(target)
    with whole_file(file) as written:
        written.write(bundle)
    return file


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
