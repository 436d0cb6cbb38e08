"""Starting, watching and ending the training child; the process that does this never imports torch.

Celery's prefork pool hangs if its parent ever ran a torch operation, and a training must be killable at any moment,
so a training is a fresh interpreter in its own process group. The parent keeps three promises: the child never
outlives it (the kernel kills it, see `workers.lifeline`), never outgrows its limits, and never runs on after its
lease is lost.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from workers.outcomes import Outcome, outcome_of

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one attempt may use.

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

    The number of threads decides how sums are split, so it is fixed and no library may lower it under load; MKL is
    held to one code path; Python's hashes are not salted, so sets iterate in one order. Waiting threads sleep: where
    they spin and the machine has other work, a step of many small operations took forty times as long.

    Args:
        inherited: The parent's environment, which carries the settings and thereby the secrets.
        threads: CPU threads of the training.
        gpus: The GPUs that the child may see, as the driver numbers them; it sees no other.
    """
    return {
        **inherited,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_DYNAMIC": "FALSE",
        "OMP_WAIT_POLICY": "PASSIVE",
        "MKL_DYNAMIC": "FALSE",
        "MKL_CBWR": "AUTO,STRICT",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        # Norms are made of float64 products; a library that put them together from narrower ones would bound less.
        "CUBLAS_EMULATE_DOUBLE_PRECISION": "0",
        # Kernels chosen by timing them would differ from attempt to attempt.
        "PYTORCH_TUNABLEOP_ENABLED": "0",
        # On the host sums of clipped records are products of float32. Machine images of some clouds ask for bfloat16 instead,
        # whose factors are off by up to 2^-9 each, so that a record could weigh more than it is charged for.
        "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT",
        "DNNL_DEFAULT_FPMATH_MODE": "STRICT",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(gpus),
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
    }


def runner_command(job_id: UUID, fence: int) -> list[str]:
    """The command line of the training child: opaque numbers only, never a secret."""
    return [sys.executable, "-m", "workers.runner", str(job_id), str(fence), "--parent", str(os.getpid())]


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
        """Wait for the end; the return code, or None if it still runs after `seconds`."""
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def resident_bytes(self) -> int:
        """Memory the child occupies now; 0 once it is gone."""
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
        heartbeat: Renews the lease; returns an outcome to end the attempt with it, or None to go on.
        stopping: Whether this worker was told to stop.
        look_seconds: Time between two looks at the memory.

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
