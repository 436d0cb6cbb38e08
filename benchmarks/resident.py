"""Peak memory of a piece of work, in a process of its own."""

import ctypes
import gc
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"

Asked = TypeVar("Asked")


def peak_growth(work: Callable[[], object]) -> int:
    """Bytes by which this process's resident memory stood above its present size at most, while `work` ran.

    What was freed before is given back to the system first, or its use by `work` would not be seen; that needs Linux and
    glibc. Memory that another thread's arena keeps is not given back, so ask in a fresh process.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    _REFERENCES.write_text(_RESET_PEAK)
    before = _kilobytes("VmRSS")
    work()
    return 1024 * (_kilobytes("VmHWM") - before)


def in_fresh_processes(
    measure: Callable[[Asked], int], asked: list[Asked], *, preload: list[str]
) -> list[int]:
    """Answers of `measure` to each, every one in a new process.

    Args:
        measure: a function of a module.
        asked: its arguments, which can be pickled.
        preload: modules that are imported before the processes split off.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(preload)
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        return list(pool.map(measure, asked))


def _kilobytes(field: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    (found,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(found.split()[1])
