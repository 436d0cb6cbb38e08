"""Paths given by callers, and bundles written to them."""

import os
from pathlib import Path

from understudy.errors import InputUnusable
from understudy.whole_files import whole_file

AnyPath = str | os.PathLike[str]


def write_bundle(bundle: bytes, target: AnyPath) -> Path:
    """Write a bundle to a file, completely or not at all.

    Raises:
        InputUnusable: the target folder does not exist.
    """
    file = Path(target)
    with whole_file(file) as written:
        written.write(bundle)
    return file


def path_of(given: AnyPath, name: str) -> Path:
    """Return a path given by a caller as an argument of this name.

    Raises:
        InputUnusable: the value is no path.
    """
    try:
        return Path(given)
    except TypeError:
        raise InputUnusable(
            f"{name} must be a path: text or os.PathLike, not {type(given).__name__}"
        ) from None
