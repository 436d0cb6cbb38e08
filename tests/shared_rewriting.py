"""The processes of a run share the rewriting of assertions and the compiling of test modules, two fifths of the collection.

In a fresh clone nothing is compiled. Processes that collect the same modules in the same order rewrite each of them at the same
moment, all of them once a process. Here every process imports another part of the modules first, and then collects as
always: what the others have compiled is read from their files.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")


def import_own_part(config: pytest.Config) -> None:
    """Import this process's part of the test modules, where several processes run all tests."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    whole = [str(config.rootpath / path) for path in config.getini("testpaths")]
    if worker is None or [str(Path(config.invocation_params.dir, arg)) for arg in config.args] != whole:
        return
    modules = sorted(
        path.relative_to(config.rootpath) for path in map(Path, whole) for path in path.rglob("test_*.py")
    )
    parts = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for module in part(modules, number=int(worker.removeprefix("gw")), parts=parts):
        # A module that cannot be imported is reported by the collection; one that is to be skipped raises no Exception.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(module.with_suffix("").parts))


def part(items: Sequence[T], *, number: int, parts: int) -> Sequence[T]:
    """One of `parts` runs of neighbours, which are together all items."""
    return items[number * len(items) // parts : (number + 1) * len(items) // parts]
