"""Atomic writes: a file appears whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from understudy.errors import InputUnusable


@contextmanager
def whole_file(target: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Write to a temporary file in the target's folder, then rename it; an interrupted write leaves the target as it was.

    A private file can be read by this user only, from the first byte on.

    Raises:
        InputUnusable: there is no folder to write it to.
    """
    require_folder(target)
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        with open(partial, "xb", opener=_for_this_user if private else None) as file:
            yield file
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def require_folder(target: Path) -> None:
    """Refuse to write a file to a folder that is not there, before a temporary name of it is in an error.

    Raises:
        InputUnusable: there is no such folder.
    """
    if not target.parent.is_dir():
        message = f"there is no folder {target.parent}; make it first"
        raise InputUnusable(message)


def _for_this_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
