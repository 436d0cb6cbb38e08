"""The methods of the comparison behind one interface: codes and a budget in, synthetic codes and their cost out.

All of them protect one row, added or removed. The number of rows is public for these tables.
"""

import json
import os
import resource
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from benchmarks.datasets import Codes
from benchmarks.tables.budget import mu_of, rho_of
from benchmarks.tables.ours import synthesize
from benchmarks.tables.peers.marginals import nearest
from benchmarks.tables.task import Task

ROOT: Final = Path(__file__).parents[2]
PEERS: Final = ROOT / "build" / "peers"
"""Virtual environment with mbi and JAX, apart from the project's own: `make bench-tables` creates it."""
# JAX compiles a program for every round: with less optimisation it is twice as fast in all.
_JAX: Final = {
    "JAX_ENABLE_X64": "1",
    "JAX_ENABLE_COMPILATION_CACHE": "0",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Output of a method.

    Args:
        codes: (rows, columns), as many rows as there are training rows.
        facts: what the method says of its run.
        cpu_seconds: processor time of all threads and child processes.
        wall_seconds: elapsed time.
    """

    codes: Codes
    facts: dict[str, Any]
    cpu_seconds: float
    wall_seconds: float


Method = Callable[[Task], tuple[Codes, dict[str, Any]]]


def make(method: str, task: Task) -> Made:
    """Run a method and measure what it costs."""
    cpu, wall = _cpu_seconds(), time.perf_counter()
    codes, facts = METHODS[method](task)
    wall_seconds, cpu_seconds = time.perf_counter() - wall, _cpu_seconds() - cpu
    assert codes.shape == task.codes.shape, "as many synthetic rows as training rows"
    assert (codes >= 0).all(), "codes are not negative"
    assert (codes.max(axis=0) < np.array(task.cardinalities)).all(), "codes are in their domain"
    return Made(codes=codes, facts=facts, cpu_seconds=cpu_seconds, wall_seconds=wall_seconds)


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def independent(task: Task) -> tuple[Codes, dict[str, Any]]:
    """Noisy one-way counts with the whole budget, and every column drawn on its own."""
    rng = np.random.default_rng(task.seed)
    rows, columns = task.codes.shape
    deviation = np.sqrt(columns) / mu_of(task.epsilon, task.delta)
    made = np.empty_like(task.codes)
    for column, cells in enumerate(task.cardinalities):
        noisy = np.bincount(task.codes[:, column], minlength=cells) + rng.normal(0, deviation, cells)
        counts = nearest(noisy, max(noisy.sum(), 1.0))
        made[:, column] = rng.choice(cells, rows, p=counts / counts.sum())
    return made, {}


def real(task: Task) -> tuple[Codes, dict[str, Any]]:
    """The training rows themselves: what no method can beat. Not private."""
    return task.codes.copy(), {}


def aim(task: Task) -> tuple[Codes, dict[str, Any]]:
    """AIM; see `peers/aim.py`."""
    return _peer("aim", task)


def mst(task: Task) -> tuple[Codes, dict[str, Any]]:
    """MST; see `peers/mst.py`."""
    return _peer("mst", task)


def swift(task: Task) -> tuple[Codes, dict[str, Any]]:
    """SWIFT; see `peers/swift.py`."""
    return _peer("swift", task)


METHODS: Final[Mapping[str, Method]] = {
    "understudy": synthesize, "aim": aim, "mst": mst, "swift": swift, "independent": independent, "real": real,
}  # fmt: skip


def _peer(name: str, task: Task) -> tuple[Codes, dict[str, Any]]:
    """Run a peer as a child process in its own virtual environment.

    Raises:
        RuntimeError: the environment is missing.
    """
    interpreter = PEERS / "bin" / "python"
    if not interpreter.exists():
        raise RuntimeError("The peers' virtual environment is missing: run `make build/peers/.installed`.")
    with TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.npz", Path(folder) / "made.npz"
        np.savez(
            given,
            codes=task.codes,
            cardinalities=np.array(task.cardinalities),
            rho=rho_of(task.epsilon, task.delta),
            seed=task.seed,
            most_megabytes=task.most_megabytes,
        )
        command = [str(interpreter), "-m", "benchmarks.tables.peers", name, str(given), str(made)]
        subprocess.run(command, check=True, cwd=ROOT, env=os.environ | _JAX)
        found = np.load(made)
        return found["codes"].astype(task.codes.dtype), json.loads(str(found["facts"]))
