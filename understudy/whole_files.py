"""Atomic writes: a file appears whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(target: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Write to a temporary file in the target's folder, then rename it; an interrupted write leaves the target as it was.

    Args:
        target: the file.
        private: whether only this user may read it, from the first byte on.

    Yields:
        The file to write to.
    """
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        with open(partial, "xb", opener=_for_this_user if private else None) as file:
            yield file
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _for_this_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
