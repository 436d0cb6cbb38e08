"""A child that opens private rows: how it ends, how its parent starts, watches and ends it, and how it limits itself.

Its end is its exit code, and the codes are constants: one of a few public facts, and never a cause that could hold data. The
parent concludes the outcome of the attempt from it, or from the limit that it enforced.

Celery's prefork pool hangs if its parent ever ran a torch operation, and an attempt must be killable at any moment. So
the work is done by a fresh interpreter in its own process group, and the parent never imports torch. Nor does this module,
which every child imports. The parent keeps three promises: the child never outlives it (the kernel kills the child), never
exceeds its limits, and never runs on after its lease is lost.

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
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Final, Literal, TextIO
from uuid import UUID

from obstore.exceptions import BaseError as StoreError

from core.crashes import leave_no_core
from core.data.errors import ObjectMissing
from core.data.objects import is_out_of_memory
from core.errors import Unavailable
from core.jobs.errors import LeaseLost

WorkName = Literal["train", "count", "compare"]
"""Kind of work of a child (`workers.runner`)."""

STOP_SECONDS: Final = 0.5
"""Interval at which a waiting process checks whether it was asked to stop."""

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_LOOK_SECONDS: Final = 0.1
_LEAVING: Final = mmap.mmap(-1, 1)
_signalled: Final = threading.Event()
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4

MACHINERY_FAILED: Final = "infrastructure-failed"
"""Failure code of a job whose attempts were used up by the database or the object store."""

REUSED_COUNTS_MISSING: Final = "reused-counts-missing"
"""Failure code of a job whose plan reuses the counts of a release that is gone or changed."""

MEMBER_VANISHED: Final = "member-vanished"
"""Failure code of a job in a federation, another member of which missed the deadline of a round."""

FEDERATION_ENDED: Final = "federation-ended"
"""Failure code of a job whose federation the analyst ended."""

FEDERATION_DIFFERS: Final = "federation-differs"
"""Failure code of a job whose board has another plan, another token or another address than may be called."""

STATE_REFUSED: Final = "federation-state-refused"
"""Failure code of a job that was handed a state which is not one of its training."""

CHECKPOINT_LOST: Final = "federation-checkpoint-lost"
"""Failure code of a job in a federation whose last round cannot be resumed."""

MODULE_REFUSED: Final = "module-refused"
"""Failure code of a job whose registered module cannot be trained privately."""


class ExitCode(IntEnum):
    """Exit code of a child; each has the name of its `Outcome`."""

    DONE = 0
    CANCELLED = 40
    LEASE_LOST = 41
    DATA = 42
    MACHINERY = 43
    REUSED_MISSING = 44
    MEMBER_VANISHED = 45
    FEDERATION_ENDED = 46
    FEDERATION_DIFFERS = 47
    STATE_REFUSED = 48
    CHECKPOINT_LOST = 49
    MODULE_REFUSED = 50


class Outcome(StrEnum):
    """Outcome of an attempt, as the supervising task sees it.

    * DONE: the result is staged.
    * CANCELLED: a person cancelled the job.
    * LEASE_LOST: another worker may hold the job; this one must not touch it again.
    * DATA: a failure that could depend on rows, so the job is charged in full.
    * MACHINERY: database, object store or setup failed where no row could matter; resumed, in the end settled.
    * REUSED_MISSING: counts of an earlier release, which the plan reuses, are gone or changed. No row was read, and no
      further attempt would find them.
    * MEMBER_VANISHED, FEDERATION_ENDED, FEDERATION_DIFFERS, STATE_REFUSED, CHECKPOINT_LOST: the job's federation does not go on.
      What others answered decides that, never own rows; the steps that have begun are charged.
    * MODULE_REFUSED: the registered module mixes records or cannot be differentiated for each; seen on public records before a step.
    * VANISHED: the child died without a word (killed, or out of the machine's memory). The cause is unknown, so the job is
      resumed with the same randomness; `core.jobs.endings.give_up` ends it when its attempts are used up.
    * STOPPED: the worker was asked to stop, or makes room; the job goes back to the queue and no attempt is counted.
    * FROZEN: the ledger has forgotten something that was noted outside the database. The job waits for an operator, and no
      attempt is counted.
    * TOO_LONG, TOO_LARGE: a public limit was exceeded. Charged in full, because how soon could depend on rows.

    Only the process that watches distinguishes DATA, TOO_LONG and TOO_LARGE: which of them it was could reveal something about
    rows, also to readers of logs and traces.
    """

    DONE = "done"
    CANCELLED = "cancelled"
    LEASE_LOST = "lease-lost"
    DATA = "data"
    MACHINERY = "machinery"
    REUSED_MISSING = "reused-missing"
    MEMBER_VANISHED = MEMBER_VANISHED
    FEDERATION_ENDED = FEDERATION_ENDED
    FEDERATION_DIFFERS = FEDERATION_DIFFERS
    STATE_REFUSED = STATE_REFUSED
    CHECKPOINT_LOST = CHECKPOINT_LOST
    MODULE_REFUSED = MODULE_REFUSED
    VANISHED = "vanished"
    STOPPED = "stopped"
    FROZEN = "frozen"
    TOO_LONG = "too-long"
    TOO_LARGE = "too-large"

    @property
    def public(self) -> "Outcome":
        """The outcome as logs and traces may hold it."""
        return Outcome.DATA if self in CHARGED_IN_FULL else self


FINAL_CODES: Final = {
    Outcome.REUSED_MISSING: REUSED_COUNTS_MISSING,
    Outcome.MEMBER_VANISHED: MEMBER_VANISHED,
    Outcome.FEDERATION_ENDED: FEDERATION_ENDED,
    Outcome.FEDERATION_DIFFERS: FEDERATION_DIFFERS,
    Outcome.STATE_REFUSED: STATE_REFUSED,
    Outcome.CHECKPOINT_LOST: CHECKPOINT_LOST,
    Outcome.MODULE_REFUSED: MODULE_REFUSED,
}
"""Failure codes of outcomes in which rows had no part, and which no further attempt would change."""

CHARGED_IN_FULL: Final = frozenset({Outcome.DATA, Outcome.TOO_LONG, Outcome.TOO_LARGE})


def outcome_of(returncode: int) -> Outcome:
    """Translate a child's return code. A signal or an unknown code means that the child vanished."""
    try:
        return Outcome[ExitCode(returncode).name]
    except ValueError:
        return Outcome.VANISHED


class AttemptEnded(Exception):
    """The attempt ends for a reason that depends on no row; the child exits with its code."""

    def __init__(self, code: ExitCode) -> None:
        super().__init__(code.name)
        self.code = code


@contextmanager
def storage() -> Iterator[None]:
    """Treat failures that the database or the object store reports as public, and worth another attempt.

    Use it where private rows are at hand: there an error of the operating system may be the rows' doing, so it passes.

    Raises:
        AttemptEnded: The lease is lost, or database or object store do not answer.
    """
    try:
        yield
    except LeaseLost:
        raise AttemptEnded(ExitCode.LEASE_LOST) from None
    except (Unavailable, StoreError, ObjectMissing) as error:
        raise AttemptEnded(ExitCode.MACHINERY) from error


@contextmanager
def machinery() -> Iterator[None]:
    """As `storage`, and treat errors of the operating system the same way, except for a lack of memory.

    Raises:
        AttemptEnded: The lease is lost, or database, object store or operating system failed.
    """
    try:
        with storage():
            yield
    except OSError as error:
        if is_out_of_memory(error):
            raise  # how much memory is left may depend on rows
        raise AttemptEnded(ExitCode.MACHINERY) from error


def announce_stop() -> None:
    """Announce to every pool process of this worker that the worker leaves."""
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
    """Limits of one attempt: resident memory of the child, and wall-clock time."""

    memory_bytes: int
    seconds: float


def child_environment(
    inherited: Mapping[str, str], *, threads: int, gpus: Sequence[str] = ()
) -> dict[str, str]:
    """The child's environment: the parent's, with everything pinned that could change a floating-point sum.

    Args:
        inherited: The parent's environment, which carries the settings and thereby the secrets.
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
        # One code path of MKL, whatever the CPU; another one that an operator has chosen rounds as evenly.
        "MKL_CBWR": chosen if _rounds_evenly(chosen := inherited.get("MKL_CBWR", "")) else "AUTO,STRICT",
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


def _rounds_evenly(code_path: str) -> bool:
    """Whether MKL rounds a record alike wherever it stands in a batch, by the value of MKL_CBWR."""
    return code_path == "COMPATIBLE" or code_path.endswith(",STRICT")


def runner_command(claimed: UUID, fence: int, *, work: WorkName) -> list[str]:
    """The command line of a child: the kind of work and opaque numbers, never a secret."""
    words = ["-m", "workers.runner", str(claimed), str(fence), "--parent", str(os.getpid()), "--work", work]
    return [sys.executable, *words]


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
    """Watch the child to its end, or bring the end about. Child and group are gone when this returns or raises.

    Args:
        heartbeat: Renews the lease. Returns None to go on, or the outcome with which the attempt ends.
        stopping: Whether this worker was asked to stop.
        look_seconds: Time between two checks of the memory.
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
    """Make allocations beyond a limit fail in this process: so many bytes of private writable memory."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def fall_silent() -> TextIO:
    """Redirect standard output and error to /dev/null, also for libraries written in C.

    Returns the former standard error, for events that hold no text of a library.
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
