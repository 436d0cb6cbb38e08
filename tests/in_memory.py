"""A folder in memory for servers that forget everything when their test process ends."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 2 << 30
"""Three test processes take a tenth of it. Containers have 64 MiB by default."""
_PREFIX = "understudy-tests-"


@contextmanager
def in_memory(root: Path = SHARED_MEMORY) -> Iterator[Path | None]:
    """Make a folder in a file system in memory; None where there is none, or too little room.

    Folders of processes that were killed are removed, because nobody else gives their memory back.
    """
    if not root.is_dir() or not os.access(root, os.W_OK) or shutil.disk_usage(root).free < ENOUGH_BYTES:
        yield None
        return
    for left in root.glob(f"{_PREFIX}*"):
        if not Path("/proc", left.name.removeprefix(_PREFIX)).exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = root / f"{_PREFIX}{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
