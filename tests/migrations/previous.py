"""A previous release's tests against the newest migrations: `python -m tests.migrations.previous REF [PATHS]`.

Checks out the release beside this tree, gives it this tree's `migrations` folder, and runs its tests of everything
that reads and writes the database. Its tests of the schema itself are left out: the schema is what has changed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATHS = (
    "tests/core/platform/access",
    "tests/core/jobs",
    "tests/core/ledger",
    "tests/service",
    "tests/workers",
)


def main(words: list[str]) -> int:
    """Run them; the exit status is pytest's."""
    if not words:
        sys.stderr.write("which release? make check-previous REF=<tag or commit>\n")
        return 2
    reference, *paths = words
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "previous"
        subprocess.run(["git", "worktree", "add", "--detach", tree, reference], cwd=ROOT, check=True)
        try:
            shutil.rmtree(tree / "migrations")
            shutil.copytree(
                ROOT / "migrations", tree / "migrations", ignore=shutil.ignore_patterns("__pycache__")
            )
            chosen = [path for path in paths or PATHS if (tree / path.partition("::")[0]).exists()]
            environment = os.environ | {"PYTHONPATH": str(tree), "OMP_WAIT_POLICY": "PASSIVE"}
            subprocess.run([sys.executable, "-m", "docs.generate"], cwd=tree, env=environment, check=True)
            options = ["-q", "-p", "no:cacheprovider", "--import-mode=prepend"]
            return subprocess.run(
                [sys.executable, "-m", "pytest", *options, *chosen], cwd=tree, env=environment, check=False
            ).returncode
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
