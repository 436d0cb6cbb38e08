"""Results of benchmarks: one JSON file per benchmark, one entry per run, each run merged into what is there."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_facts

RESULTS = Path(__file__).parent / "results"


def merge(
    name: str, *, kind: str, key: str, entry: Mapping[str, Any], folder: Path = RESULTS
) -> dict[str, Any]:
    """Put one entry into `<name>.json`, replacing the one with the same kind and key.

    Args:
        name: of the benchmark.
        kind: section, such as "runs" or "baselines".
        key: of the entry inside its section.
        entry: JSON.
        folder: where the file is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    with _alone(folder):
        document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        document.setdefault(kind, {})[key] = dict(entry)
        document[kind] = dict(sorted(document[kind].items()))
        document["machine"] = machine_facts(packages=("numpy", "scikit-learn", "torch"))
        path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    return document


def rounded(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The same entries with floats of five significant digits."""
    return {
        name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in scores.items()
    }


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Benchmarks that run side by side merge in turns, so that none loses the other's entry."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
