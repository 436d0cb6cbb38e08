"""Import the libraries that the tests import, so that they are compiled: `python -m tests.first_imports`, after an installation.

pip would compile all 19,000 modules of the libraries, one after the other; tests import a quarter of them. If nobody compiled these
before, the processes of a run would: each of them almost all, because they import the same modules at the same moments. Here two
processes import different ones.
"""

import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_PROCESSES: Final = 2
_IMPORTED: Final = re.compile(r"^(?:from (\w[\w.]*) import |import ([\w.]+)(?: as \w+)?$)", re.MULTILINE)
"""What a module imports when it is imported itself."""


def libraries(root: Path = ROOT) -> dict[str, set[str]]:
    """The modules of libraries that the sources import, by package."""
    found, own = defaultdict(set), {path.parent.name for path in root.glob("*/__init__.py")}
    for folder in own:
        for path in (root / folder).rglob("*.py"):
            for either, other in _IMPORTED.findall(path.read_text()):
                package = (either or other).split(".", 1)[0]
                if package not in sys.stdlib_module_names and package not in own:
                    found[package].add(either or other)
    return found


def import_all(names: Iterable[str]) -> None:
    """Import modules. One that cannot be imported is left out: its package may belong to an extra that is not installed."""
    warnings.simplefilter("ignore")
    for name in names:
        with suppress(Exception):
            import_module(name)


def main() -> None:
    """Import all of them."""
    with ProcessPoolExecutor(_PROCESSES) as pool:
        for _ in pool.map(import_all, libraries().values()):
            pass


if __name__ == "__main__":
    main()
