import sys
from pathlib import Path

import pytest

from tests.first_imports import import_all, libraries


def test_libraries_are_what_the_sources_import_at_their_beginning(tmp_path: Path) -> None:
    (tmp_path / "core" / "inner").mkdir(parents=True)
    (tmp_path / "core" / "__init__.py").touch()
    (tmp_path / "core" / "a.py").write_text(
        "import os\nimport numpy as np\nfrom core.b import c\nfrom . import d\n"
    )
    (tmp_path / "core" / "inner" / "b.py").write_text(
        "from numpy.random import default_rng\nfrom torch import nn\n\n\ndef later():\n    import jax\n"
    )
    assert libraries(tmp_path) == {"numpy": {"numpy", "numpy.random"}, "torch": {"torch"}}


def test_the_libraries_of_the_project_are_found() -> None:
    assert {"numpy", "torch", "sqlalchemy", "fastapi", "hypothesis"} <= libraries().keys()


def test_what_cannot_be_imported_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "first_imports_broken.py").write_text("import absent_module")
    (tmp_path / "first_imports_whole.py").write_text("")
    import_all(["absent_module", "first_imports_broken", "first_imports_whole"])
    assert sys.modules.pop("first_imports_whole", None)
