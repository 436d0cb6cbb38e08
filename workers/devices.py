"""The GPUs of this machine and their memory, asked of the driver's own program.

Not of torch: the process that asks forks the pool, and a process that has run a torch operation must not fork.
"""

import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

from core.vitals.signs import Device

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


def _is_whole(row: Sequence[str]) -> bool:
    return len(row) == _FIELDS and all(field.strip().isdigit() for field in row)


def _device(row: Sequence[str]) -> Device:
    index, used, total = (int(field) for field in row)
    return Device(index=index, used_bytes=used * _MEBIBYTE, total_bytes=total * _MEBIBYTE)
