"""Public facts about the machine and the day, for result files: no names, no paths."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any


def machine_facts(*, packages: tuple[str, ...] = ("numpy", "torch")) -> dict[str, Any]:
    """Processor, memory, Python, versions and the date.

    Args:
        packages: distributions whose versions matter to the result.
    """
    return {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
    }


def load_average() -> float:
    """Processes that wanted a core over the last minute: how quiet the machine was."""
    return round(os.getloadavg()[0], 2)


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
