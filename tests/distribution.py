"""Which tests share a process, and which begin first, where several processes run them.

pytest-xdist's own groups (`--dist loadgroup`) are silently lost with pytest 9.2 (pytest-dev/pytest-xdist issue 1386), and every
process then starts the same stacks once more. So the groups are ours, made of paths: the tests of a file stay together, whose
fixtures are made once, and so do the files that share what takes a minute to start.
"""

from collections.abc import Collection, Mapping

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

Unit = Mapping[str, bool]
"""The tests of a group, and whether each is over."""

SHARED = {
    "tests/system/test_publish": "a stack",
    "tests/system/test_doctor": "a stack",
    "tests/system/test_supervisor": "a stack",
    "tests/privacy/leaks/": "a played day",
    **dict.fromkeys(
        ("tests/models/graphical/", "tests/privacy/test_graphical_replay", "tests/workers/test_graphical"),
        "JAX",
    ),
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
WAITING = ("tests/faults/", "tests/system/", "tests/workers/test_faults", "tests/workers/test_stops")
"""What mostly waits: for leases to run out, for stacks to start and to end."""
SPREAD = ("tests/understudy/verifying/test_every_plan",)
"""Long files whose tests share nothing: each test is a group of its own."""


class Together(LoadScopeScheduling):  # type: ignore[misc]  # the library has no types
    """Sends the tests of a group to one process, groups in the order of collection.

    Groups that mostly wait go to half of the processes at most, as long as there are others: beside them the others compute.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(next_group(self.workqueue, self.assigned_work.values()), last=False)
        super()._assign_work_unit(node)


def next_group(queue: Mapping[str, Unit], assigned: Collection[Mapping[str, Unit]]) -> str:
    """The group that a process gets next.

    Args:
        queue: Groups that no process has, in their order.
        assigned: The groups of each process; of each test, whether it is over.
    """
    waiting = sum(
        any(waits(unit) and not all(unit.values()) for unit in groups.values()) for groups in assigned
    )
    if waiting < max(1, len(assigned) // 2):
        return next(iter(queue))
    return next((group for group, unit in queue.items() if not waits(unit)), next(iter(queue)))


def waits(unit: Unit) -> bool:
    """Whether the tests of a group mostly wait for other processes."""
    return next(iter(unit), "").startswith(WAITING)


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
