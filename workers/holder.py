"""Who holds a lease, so that upkeep on the same machine sees when the holder is dead and need not wait for the lease.

Where its holder cannot be seen (another machine, another container, a kernel that was started since), a lease runs out
as ever. Ending one early is safe at any rate: whoever takes the job over gets a higher fence.
"""

import os
from functools import cache
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
_ZOMBIE = "Z"


@cache
def this_machine() -> str:
    """This boot of this machine, seen from this container; process ids mean something only within it."""
    return f"{_BOOT.read_text().strip()}/{_NAMESPACE.stat().st_ino}/"


def this_process() -> str:
    """The present process, told from a later one with the same id by the time it started."""
    pid = os.getpid()
    return f"{this_machine()}{pid}/{_started(pid)}"


def is_dead(holder: str) -> bool:
    """Whether a holder has certainly ended; of one that cannot be seen from here nothing is certain."""
    machine = this_machine()
    if not holder.startswith(machine):
        return False
    pid, _, started = holder.removeprefix(machine).partition("/")
    return _started(int(pid)) != started


def _started(pid: int) -> str | None:
    """When a live process started, in ticks since the boot; None if there is none of this id."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == _ZOMBIE else fields[19]
