"""The child that opens private rows: how its parent starts, watches and ends it, and how it limits itself.

Celery's prefork pool hangs if its parent ever ran a torch operation, and an attempt must be killable at any moment. So
the work is done by a fresh interpreter in its own process group, and the parent never imports torch. It keeps three
promises: the child never outlives it (the kernel kills the child), never exceeds its limits, and never runs on after its
lease is lost.

A stopping worker neither waits for its pool processes nor kills them: they return their jobs to the queue. The main process
notifies them through a byte of memory that it shares with the processes it forks (Celery's warm shutdown, at SIGTERM), or by
a SIGTERM of their own (its cold shutdown, at SIGQUIT).

The child, before it opens rows, asks Linux to be killed with its parent, leaves no core dump, and cannot be read by other
processes of the same user through ``/proc`` or a debugger. Its memory is limited twice: by itself where it can, so that an
allocation fails, and by its parent.
"""

import ctypes
import mmap
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TextIO
from uuid import UUID

from core.crashes import leave_no_core
from workers.outcomes import Outcome, outcome_of

WorkName = Literal["train", "count", "compare"]
"""Kind of work of a child (`workers.runner`)."""
TRAIN: Final[WorkName] = "train"

STOP_SECONDS: Final = 0.5
"""Interval at which a waiting process checks whether it was asked to stop."""

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_LOOK_SECONDS: Final = 0.1
_LEAVING: Final = mmap.mmap(-1, 1)
_signalled: Final = threading.Event()
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4


def announce_stop() -> None:
    """Tell every pool process of this worker that the worker leaves."""
    _LEAVING[0] = 1


def stop_announced() -> bool:
    """Whether this process was asked to stop."""
    return _LEAVING[0] == 1 or _signalled.is_set()


@contextmanager
def stop_noticed() -> Iterator[None]:
    """Note a SIGTERM inside the block instead of ending this process. Only the main thread can."""
    _signalled.clear()
    former = signal.signal(signal.SIGTERM, lambda *_: _signalled.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one attempt.

    Attributes:
        memory_bytes: Resident memory of the child.
        seconds: Wall-clock time of the attempt.
    """

    memory_bytes: int
    seconds: float


def child_environment(
    inherited: Mapping[str, str], *, threads: int, gpus: Sequence[str] = ()
) -> dict[str, str]:
    """The child's environment: the parent's, with everything pinned that could change a floating-point sum.

    Args:
        inherited: The parent's environment, which carries the settings and thereby the secrets.
        threads: CPU threads of the child.
        gpus: The GPUs that the child may see, as the driver numbers them; it sees no other.
    """
    return {
        **inherited,
        # The number of threads decides how sums are split, so no library may lower it under load.
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_DYNAMIC": "FALSE",
        "MKL_DYNAMIC": "FALSE",
        # Waiting threads sleep. Where they spun and the machine had other work, a step of many small operations took
        # forty times as long.
        "OMP_WAIT_POLICY": "PASSIVE",
        # One code path of MKL, whatever the CPU.
        "MKL_CBWR": "AUTO,STRICT",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        # Norms are sums of float64 products; a library that emulated them with narrower ones would bound less.
        "CUBLAS_EMULATE_DOUBLE_PRECISION": "0",
        # Kernels chosen by timing would differ from attempt to attempt.
        "PYTORCH_TUNABLEOP_ENABLED": "0",
        # On the host, sums of clipped records are products of float32. Machine images of some clouds ask for bfloat16
        # instead, whose factors are off by up to 2^-9 each, so that a record could weigh more than it is charged for.
        "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT",
        "DNNL_DEFAULT_FPMATH_MODE": "STRICT",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(gpus),
        # Unsalted hashes: sets iterate in one order.
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
    }


def runner_command(claimed: UUID, fence: int, *, work: WorkName = TRAIN) -> list[str]:
    """The command line of a child: opaque numbers only, never a secret."""
    words = ["-m", "workers.runner", str(claimed), str(fence), "--parent", str(os.getpid())]
    return [sys.executable, *words, *([] if work == TRAIN else ["--work", work])]


class Child:
    """One running child and everything it may have started."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Start it in its own session, so that one signal reaches the whole group."""
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The child's process id, which is also its process group."""
        return self._process.pid

    def wait(self, seconds: float) -> int | None:
        """Wait for the end. Returns the return code, or None if the child still runs after `seconds`."""
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def resident_bytes(self) -> int:
        """Memory that the child occupies now; 0 once it is gone."""
        try:
            fields = Path(f"/proc/{self.pid}/statm").read_text().split()
        except OSError:
            return 0
        return int(fields[1]) * _PAGE_BYTES

    def kill(self) -> int:
        """Kill the whole group and reap the child; harmless if it has already ended."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        return self._process.wait()


def watch(
    child: Child,
    *,
    limits: Limits,
    heartbeat_seconds: float,
    heartbeat: Callable[[], Outcome | None],
    stopping: Callable[[], bool],
    look_seconds: float = _LOOK_SECONDS,
) -> Outcome:
    """Watch the child to its end, or bring the end about.

    Args:
        child: The running child.
        limits: What it may use.
        heartbeat_seconds: Time between two heartbeats.
        heartbeat: Renews the lease. Returns None to go on, or the outcome with which the attempt ends.
        stopping: Whether this worker was asked to stop.
        look_seconds: Time between two checks of the memory.

    Returns:
        How the attempt ended. The child and its group are gone when this returns or raises.
    """
    started = last_beat = time.monotonic()
    try:
        while (code := child.wait(look_seconds)) is None:
            if stopping():
                return Outcome.STOPPED
            now = time.monotonic()
            if child.resident_bytes() > limits.memory_bytes:
                return Outcome.TOO_LARGE
            if now - started > limits.seconds:
                return Outcome.TOO_LONG
            if now - last_beat >= heartbeat_seconds:
                verdict = heartbeat()
                last_beat = time.monotonic()
                if verdict is not None:
                    return verdict
        return outcome_of(code)
    finally:
        child.kill()


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies.

    The kernel watches from now on; a parent that died earlier is noticed by its changed process id.

    Args:
        parent: The parent's own process id.

    Raises:
        SystemExit: The parent is already gone.
        OSError: The kernel refused.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def close_side_doors() -> None:
    """Forbid core dumps, debuggers and reading this process's memory or environment through /proc.

    Raises:
        OSError: The kernel refused.
    """
    leave_no_core()
    _prctl(_PR_SET_DUMPABLE, 0)


def limit_memory(limit: int) -> None:
    """Make allocations beyond a limit fail in this process.

    Args:
        limit: Bytes of private writable memory.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def fall_silent() -> TextIO:
    """Redirect standard output and error to /dev/null, also for libraries written in C.

    Returns:
        The former standard error, for events that hold no text of a library.
    """
    events = os.fdopen(os.dup(2), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return events


def _prctl(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")
