"""Keeping a lease: which process owns it, whether that process is dead, and the heartbeat that renews it.

Upkeep on the same machine sees that a lease owner is dead and ends its lease at once. An owner that cannot be seen (another
machine, another container, a kernel started since) loses its lease when that runs out. Ending a lease early is always safe:
the next claim gets a higher fence.
"""

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from core.clock import Clock
from core.errors import Unavailable
from core.jobs.coarse import Edges
from core.jobs.errors import LeaseLost
from workers.outcomes import Outcome

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
_ZOMBIE = "Z"


@cache
def this_machine() -> str:
    """This boot of this machine, seen from this container; process ids mean something only within it."""
    return f"{_BOOT.read_text().strip()}/{_NAMESPACE.stat().st_ino}/"


def this_process() -> str:
    """This process as a lease owner. Its start time tells it from a later process with the same id."""
    pid = os.getpid()
    return f"{this_machine()}{pid}/{_started(pid)}"


def is_dead(lease_owner: str) -> bool:
    """Whether a lease owner has certainly ended; False for one that cannot be seen from here."""
    machine = this_machine()
    if not lease_owner.startswith(machine):
        return False
    pid, _, started = lease_owner.removeprefix(machine).partition("/")
    return _started(int(pid)) != started


def _started(pid: int) -> str | None:
    """The start of a live process, in ticks since the boot; None if there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == _ZOMBIE else fields[19]


class Heartbeat:
    """Renews the lease of one claim, and says when its child must stop.

    Args:
        renew: Renews the lease once, and makes the newest progress mark visible if its argument says that an edge has passed.
            Returns whether a person asked to cancel.
        clock: Tells which edges have passed.
        lease_seconds: How long the lease holds without a heartbeat.
        edges: When progress marks may become visible.
        monotonic: Measures elapsed seconds.
    """

    def __init__(
        self,
        renew: Callable[[bool], bool],
        *,
        clock: Clock,
        lease_seconds: float,
        edges: Edges,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._renew = renew
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._edges = edges
        self._edges_used = 0
        self._monotonic = monotonic
        self._renewed_at = monotonic()

    def __call__(self) -> Outcome | None:
        """Renew the lease once. A database that is away is waited for until the lease has run out.

        Returns:
            None to go on, or the outcome with which the attempt ends.
        """
        asked_at = self._monotonic()
        edges_passed = self._edges.passed(self._clock.now())
        try:
            cancelled = self._renew(edges_passed > self._edges_used)
        except LeaseLost:
            return Outcome.LEASE_LOST
        except Unavailable:
            silent = self._monotonic() - self._renewed_at
            return Outcome.LEASE_LOST if silent >= self._lease_seconds else None
        self._renewed_at = asked_at
        self._edges_used = edges_passed
        return Outcome.CANCELLED if cancelled else None
