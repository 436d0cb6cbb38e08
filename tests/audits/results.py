"""Where audits keep what they measured: scores in build/audits while they run, results beside the benchmarks' own."""

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results_file import RESULTS, merge
from tests.audits.bounds import Floats

FOLDER = RESULTS / "audits"
ROOT = Path(__file__).parents[2]
CACHE = ROOT / "build" / "audits"


def keep(name: str, *, kind: str, key: str, entry: Mapping[str, Any]) -> None:
    """Merge one result into `<name>.json`, with the day and the commit it was measured at."""
    stamped = {**entry, "date": datetime.now(tz=UTC).date().isoformat(), "commit": commit()}
    merge(name, kind=kind, key=key, entry=stamped, folder=FOLDER)


@cache
def commit() -> str:
    """The commit that was checked out at the first call, when an audit begins; marked where product files differ from it."""
    head = _git("rev-parse", "--short=10", "HEAD").strip()
    return head + ("+" if _git("status", "--porcelain", "--", "core", "models").strip() else "")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def cached(name: str) -> Floats:
    """What an interrupted audit has already measured, or nothing."""
    path = CACHE / f"{name}.npy"
    return np.load(path) if path.exists() else np.zeros((0,))


def remember(name: str, values: Floats) -> None:
    """Keep what an audit has measured so far."""
    CACHE.mkdir(parents=True, exist_ok=True)
    np.save(CACHE / f"{name}.npy", values)
