"""The GPUs of this machine, listed by the driver's own program, and which training has which.

Torch is asked in a process of its own: this one forks the pool, and a process that has run a torch operation must not fork.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROGRAM: Final = "nvidia-smi"
_QUESTION: Final = ("--query-gpu=index,memory.used,memory.total", "--format=csv,noheader,nounits")
_PATIENCE_SECONDS: Final = 5.0
_TORCH_SECONDS: Final = 120.0
_TORCH_SEES_A_GPU: Final = "import sys, torch; sys.exit(not torch.cuda.is_available())"
_MEBIBYTE: Final = 2**20
_FIELDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """Memory of one GPU.

    Attributes:
        used_bytes: used by all processes together.
        total_bytes: installed.
    """

    index: int
    used_bytes: int
    total_bytes: int


def gpus(program: str = _PROGRAM) -> Sequence[Gpu]:
    """Every GPU with its memory, as the driver's program says; none if there is no driver or it does not answer."""
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
    return tuple(_gpu(row) for row in rows if _is_whole(row)) if answer.returncode == 0 else ()


def torch_sees_gpu(find: Callable[[], Sequence[Gpu]] = gpus) -> bool:
    """Whether a training child could train on a GPU of this machine: the driver lists one, and torch can use it."""
    if not find():
        return False
    try:
        asked = subprocess.run(
            [sys.executable, "-c", _TORCH_SEES_A_GPU],
            capture_output=True,
            timeout=_TORCH_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


@contextmanager
def claimed_gpus(
    folder: Path,
    wanted: int,
    *,
    environment: Mapping[str, str],
    find: Callable[[], Sequence[Gpu]] = gpus,
) -> Iterator[tuple[str, ...]]:
    """GPUs for one training child, reserved on this machine until the block ends.

    A child gets fewer than wanted if fewer are free: their number changes no result. If none is free, it shares the first
    one: a training must not wait outside the queue.

    Args:
        folder: Holds the locks of this machine's workers; a lock ends with the process that holds it.
        wanted: The largest number; 0 gives none.
        environment: The worker's. Its CUDA_VISIBLE_DEVICES, if set, lists the GPUs that the worker may use.

    Yields:
        Their numbers or names, as the driver knows them; empty on a machine without GPUs.
    """
    named = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted == 0:
        there: tuple[str, ...] = ()
    elif named is not None:
        there = tuple(name.strip() for name in named.split(",") if name.strip())
    else:
        there = tuple(str(gpu.index) for gpu in find())
    with ExitStack() as held:
        mine: list[str] = []
        for name in there:
            if len(mine) < wanted and _taken(folder / f"gpu-{name.replace('/', '-')}.lock", held):
                mine.append(name)
        yield tuple(mine) or there[:1]


def _taken(lock: Path, held: ExitStack) -> bool:
    """Take a lock until the stack unwinds. Returns False if another process holds it."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held.callback(os.close, file)
        return True
    os.close(file)
    return False


def _is_whole(row: Sequence[str]) -> bool:
    return len(row) == _FIELDS and all(field.strip().isdigit() for field in row)


def _gpu(row: Sequence[str]) -> Gpu:
    index, used, total = (int(field) for field in row)
    return Gpu(index=index, used_bytes=used * _MEBIBYTE, total_bytes=total * _MEBIBYTE)
