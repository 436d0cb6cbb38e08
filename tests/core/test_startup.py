"""No garbage is looked for while an entry point imports its modules, and afterwards it is, as before."""

import ast
import gc
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import startup

ROOT = Path(__file__).parents[2]
ENTRIES = ("service/asgi.py", "workers/app.py", "workers/upkeep.py")
OURS = ("core", "service", "workers", "models")


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    restore = gc.enable if gc.isenabled() else gc.disable
    yield
    restore()
    importlib.reload(startup)
    restore()


def test_garbage_is_collected_once_everything_is_imported() -> None:
    gc.enable()
    gc.unfreeze()
    importlib.reload(startup)
    assert not gc.isenabled()
    startup.imported()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0, "what was imported is left out"


def test_who_collects_none_is_left_in_peace() -> None:
    gc.disable()
    importlib.reload(startup)
    startup.imported()
    assert not gc.isenabled()


@pytest.mark.parametrize("path", ENTRIES)
def test_an_entry_point_imports_it_before_all_of_ours_and_ends_with_it(path: str) -> None:
    body = ast.parse((ROOT / path).read_text()).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom) and node.module is not None]
    first = next(node for node in imports if node.module.partition(".")[0] in OURS)
    assert ast.unparse(first) == "from core import startup"
    calls = [number for number, node in enumerate(body) if ast.unparse(node) == "startup.imported()"]
    assert len(calls) == 1
    assert calls[0] > max(
        number for number, node in enumerate(body) if isinstance(node, ast.Import | ast.ImportFrom)
    )
