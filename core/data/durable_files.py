"""Durable writes for a local object store: files survive a power failure.

The object store library renames a finished file into place but calls no fsync: after a power failure the name
could refer to an empty file or be missing, while the database has committed a row that refers to it. Here the
content is synced before the rename, and afterwards the containing folder and every folder that was created
for it.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Final
from uuid import uuid4

# The library escapes other characters in file names; our keys never contain them.
_KEY: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


class DurableFolder:
    """Stores objects below an existing folder, atomically and durably."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, content: bytes | Path) -> None:
        """Store bytes or a file's content under a key.

        Raises:
            ValueError: the key has characters other than letters, digits, points, dashes, underscores and slashes.
            OSError: the disk is full or broken; what was there before is untouched.
        """
        if _KEY.fullmatch(key) is None:
            message = "a key consists of letters, digits, points, dashes, underscores and slashes"
            raise ValueError(message)
        target = self._folder / key
        made = _make_folders(target.parent)
        # The library uses names ending in # and digits for unfinished files and never lists them.
        partial = target.with_name(f"{target.name}#{uuid4().int}")
        try:
            with partial.open("xb") as file:
                if isinstance(content, Path):
                    with content.open("rb") as source:
                        shutil.copyfileobj(source, file, 1 << 20)
                else:
                    file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        for folder in (target.parent, *made):
            _flush(folder)


def _make_folders(folder: Path) -> list[Path]:
    """Create a folder and its ancestors. Returns the parents of those that were missing, innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return [each.parent for each in missing]


def _flush(folder: Path) -> None:
    """Sync a folder, which makes the names in it durable."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
