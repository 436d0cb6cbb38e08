"""The GPUs of this machine and their memory, asked of the driver's own program, and which training has which.

Not of torch: the process that asks forks the pool, and a process that has run a torch operation must not fork.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from core.health.signs import Device

_PROGRAM: Final = "nvidia-smi"
_QUESTION: Final = ("--query-gpu=index,memory.used,memory.total", "--format=csv,noheader,nounits")
_PATIENCE_SECONDS: Final = 5.0
_MEBIBYTE: Final = 2**20
_FIELDS: Final = 3


def devices(program: str = _PROGRAM) -> Sequence[Device]:
    """Every GPU with its memory; none where there is no driver or it does not answer.

    Args:
        program: The driver's program.
    """
    found = shutil.which(program)
    if found is None:
        return ()
    try:
        answer = subprocess.run(
            [found, *_QUESTION], capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    rows = [line.split(",") for line in answer.stdout.splitlines()]
    return tuple(_device(row) for row in rows if _is_whole(row)) if answer.returncode == 0 else ()


@contextmanager
def claimed_gpus(
    folder: Path,
    wanted: int,
    *,
    environment: Mapping[str, str],
    find: Callable[[], Sequence[Device]] = devices,
) -> Iterator[tuple[str, ...]]:
    """GPUs for one training child; no other child of this machine is given them meanwhile, as long as some are free.

    Fewer than wanted where fewer are free, for their number changes no result. Where none is free, all children
    beyond the first ones share the first: a training must not wait outside the queue.

    Args:
        folder: Where this machine's workers keep their locks, which end with the process that holds them.
        wanted: How many at most; 0 gives none.
        environment: The worker's; a CUDA_VISIBLE_DEVICES of its operator says which GPUs there are for it.
        find: Lists the GPUs else.

    Yields:
        Their numbers or names, as the driver knows them; none on a machine without.
    """
    named = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted == 0:
        there: tuple[str, ...] = ()
    elif named is not None:
        there = tuple(name.strip() for name in named.split(",") if name.strip())
    else:
        there = tuple(str(device.index) for device in find())
    with ExitStack() as held:
        mine: list[str] = []
        for name in there:
            if len(mine) < wanted and _taken(folder / f"gpu-{name.replace('/', '-')}.lock", held):
                mine.append(name)
        yield tuple(mine) or there[:1]


def _taken(lock: Path, held: ExitStack) -> bool:
    """Take a lock until the stack unwinds, if nobody has it."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held.callback(os.close, file)
        return True
    os.close(file)
    return False


def _is_whole(row: Sequence[str]) -> bool:
    return len(row) == _FIELDS and all(field.strip().isdigit() for field in row)


def _device(row: Sequence[str]) -> Device:
    index, used, total = (int(field) for field in row)
    return Device(index=index, used_bytes=used * _MEBIBYTE, total_bytes=total * _MEBIBYTE)
