"""Which tests share a process, and which begin first, where several processes run them.

pytest-xdist's own groups (`--dist loadgroup`) are silently lost with pytest 9.2 (pytest-dev/pytest-xdist issue 1386), and every
process then starts the same stacks once more. So the groups are ours, made of paths: the tests of a file stay together, whose
fixtures are made once, and so do the files that share what takes a minute to start.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling

SHARED = {
    "tests/system/test_publish": "a stack",
    "tests/system/test_doctor": "a stack",
    "tests/system/test_supervisor": "a stack",
    "tests/privacy/leaks/": "a played day",
}
"""Beginnings of paths, and what their tests share."""
LONGEST = (
    "tests/faults/",
    "tests/system/",
    "tests/workers/test_faults",
    "tests/workers/test_training_child",
    "tests/privacy/leaks/",
    "tests/service/test_matrix",
    "tests/workers/",
    "tests/privacy/",
    "tests/understudy/verifying/",
)
"""What takes longest, which begins first so that nobody waits for it at the end."""
SPREAD = ("tests/workers/test_faults", "tests/understudy/verifying/test_every_plan")
"""Long files whose tests share nothing: each test is a group of its own."""


class Together(LoadScopeScheduling):  # type: ignore[misc]  # the library has no types
    """Sends the tests of a group to one process, groups in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """The group of a test."""
    if nodeid.startswith(SPREAD):
        return nodeid
    shared = (what for path, what in SHARED.items() if nodeid.startswith(path))
    return next(shared, nodeid.split("::", 1)[0])


def longest_first(items: list[pytest.Item]) -> None:
    """Put the tests in order; the same in every process."""
    items.sort(
        key=lambda item: next(
            (at for at, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST)
        )
    )
