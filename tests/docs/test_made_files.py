"""Files that are made from others: the build of the package writes its own, and none is in git."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generate import made_files
from docs.package_files import package_files

ROOT = Path(__file__).parents[2]


def test_a_build_without_them_writes_them(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    without = shutil.ignore_patterns("__pycache__", *(Path(name).name for name in package_files()))
    for folder in ("core", "docs"):
        shutil.copytree(
            ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", "*.png", "*.svg")
        )
    for folder in ("client", "verifying"):
        shutil.copytree(ROOT / "understudy" / folder, tree / "understudy" / folder, ignore=without)
    shutil.copytree(ROOT / "understudy" / "async_client", tree / "understudy" / "async_client")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    assert {path.name for path in (tree / "understudy" / "client").iterdir()} == {"backend.py"}
    command = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(tmp_path / "built")]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    for name, text in package_files().items():
        assert (tmp_path / "built" / name).read_text() == text, name


@pytest.mark.long
def test_the_builder_of_the_site_begins_without_them(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    without = shutil.ignore_patterns("__pycache__", "*.png", "*.svg", "screenshots", "documentation")
    for folder in ("benchmarks", "core", "docs", "models", "service", "tests", "understudy", "workers"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=without)
    for name in package_files():
        (tree / name).unlink()
    shutil.copy(ROOT / "pyproject.toml", tree)
    hook = "import runpy; runpy.run_path('docs/reference_hook.py')"
    begun = subprocess.run(
        [sys.executable, "-c", hook], cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert begun.returncode == 0, begun.stderr
    for name, text in package_files().items():
        assert (tree / name).read_text() == text, name


def test_those_of_the_package_are_fresh() -> None:
    stale = [name for name, text in package_files().items() if (ROOT / name).read_text() != text]
    assert not stale, "run `make docs`"


def test_git_ignores_each_of_them(tmp_path: Path) -> None:
    names = sorted(name for name, _ in made_files())
    assert len(names) > 40
    shutil.copy(ROOT / ".gitignore", tmp_path)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    ignored = subprocess.run(
        ["git", "check-ignore", "--stdin"],
        cwd=tmp_path,
        input="\n".join(names),
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert ignored == names
    kept = "understudy/client/backend.py"
    by_hand = subprocess.run(["git", "check-ignore", "--quiet", kept], cwd=tmp_path, check=False)
    assert by_hand.returncode == 1, "it is written by hand"
