"""Files of a local object store, written so that they survive the loss of power.

The object store library renames a finished file into place but flushes nothing: after a power failure the name could
lead to an empty file, or to none, while the database has long committed a row that points at it. So here the content
is flushed before the rename, and afterwards the folder that holds the name, and every folder that was made for it.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Final
from uuid import uuid4

# The library escapes other characters in file names; keys are made by us and never need them.
_KEY: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


class DurableFolder:
    """Puts objects under a folder, each whole and durable or not at all.

    Args:
        folder: The root; exists.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: str, content: bytes | Path) -> None:
        """Store bytes or a file's content under a key.

        Raises:
            ValueError: the key is not of letters, digits, points, dashes, underscores and slashes.
            OSError: the disk is full or broken; what was there before is untouched.
        """
        if _KEY.fullmatch(key) is None:
            message = "a key consists of letters, digits, points, dashes, underscores and slashes"
            raise ValueError(message)
        target = self._folder / key
        made = _make_folders(target.parent)
        # Names that end in # and digits are the library's own for unfinished files: it never lists them.
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
    """Make a folder and those above it. Returns the parents of those that were missing, innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return [each.parent for each in missing]


def _flush(folder: Path) -> None:
    """Make the names in a folder durable."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
