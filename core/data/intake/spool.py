"""Anonymous spool files: the kernel frees them when their process ends, also after kill -9.

Several API processes may share one scratch folder, and could not distinguish another's live file from a dead
process's leftover.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final, cast

_NAMED_ONCE: Final = ("intake-*", "part-*")


@contextmanager
def spool_file(scratch_folder: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """An empty file on the disk of a folder, which is created if missing, and a path under which this process can reopen it during the block."""
    scratch_folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=scratch_folder) as file:
        yield cast("BinaryIO", file), Path(f"/proc/self/fd/{file.fileno()}")


def remove_leftovers(scratch_folder: Path) -> None:
    """Remove spool files of versions that named them. An upload in progress in such a version fails and is sent again."""
    for pattern in _NAMED_ONCE:
        for left in scratch_folder.glob(pattern):
            if left.is_file():
                left.unlink(missing_ok=True)
