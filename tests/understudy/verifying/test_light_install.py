"""Verifying where only the light client and the extra `audit` are installed, and nothing of the service."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import understudy
from tests.core.artifacts.certified import SIGNER, certified
from understudy.extras import how_to_install

ROOT = Path(__file__).parents[3]
BLOCK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
NEVER = {
    "core", "models", "service", "workers", "migrations", "torch", "pyarrow", "duckdb", "sqlalchemy", "fastapi",
    "onnx", "onnxruntime", "dp_accounting", "celery", "psycopg", "jsonschema", "attr",
}  # fmt: skip


def verified(folder: Path, *words: str, absent: set[str]) -> subprocess.CompletedProcess[str]:
    """The command over a copy of the client alone, from a folder where nothing else of ours lies."""
    if not (folder / "understudy").exists():
        ignored = shutil.ignore_patterns("__pycache__", "embedded.py")
        shutil.copytree(Path(understudy.__path__[0]), folder / "understudy", ignore=ignored)
    program = BLOCK.replace("{ABSENT}", repr(absent)) + (
        f"sys.path[:0] = [{str(folder)!r}]\n"
        "import understudy\n"
        f"assert understudy.__path__[0].startswith({str(folder)!r})\n"
        "from understudy.cli import main\nmain()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *words],
        capture_output=True, text=True, check=False, cwd=folder, env=environment,
    )  # fmt: skip


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "bundle.zip"
    path.write_bytes(certified().packed)
    return path


def test_the_command_verifies_with_the_extra_alone(tmp_path: Path, bundle: Path) -> None:
    done = verified(tmp_path, "verify", str(bundle), "--key", SIGNER.public_key.hex(), absent=NEVER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "VERIFIED" in done.stdout


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, bundle: Path) -> None:
    done = verified(tmp_path, "verify", str(bundle), absent=NEVER | {"numpy", "scipy", "cryptography"})
    assert done.returncode == 1
    assert "the extra `audit` is enough" in done.stderr
    assert how_to_install("all") in done.stderr.replace("\n", "")


def test_the_schema_and_the_extra_are_part_of_the_distribution() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "verifying/*.json" in project["tool"]["setuptools"]["package-data"]["understudy"]
    names = {need.partition(">=")[0] for need in project["project"]["optional-dependencies"]["audit"]}
    assert names == {"cryptography", "numpy", "scipy"}
