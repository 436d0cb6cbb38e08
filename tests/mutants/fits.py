"""Whether mutants still fit the source: checked in seconds, before any trial starts."""

import ast
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutants.mutant import ROOT, Mutant, Unfit


def misfits(mutants: Sequence[Mutant], root: Path = ROOT) -> list[str]:
    """Return one message for each mutant that does not apply, uses an undefined name or names a missing test."""
    messages, changed = [], {}
    for mutant in mutants:
        try:
            changed[mutant.name] = mutant.applied((root / mutant.path).read_text())
        except Unfit as problem:
            messages.append(str(problem))
        except FileNotFoundError:
            messages.append(f"{mutant.name}: {mutant.path} does not exist")
        if not _defined(mutant.killed_by, root):
            messages.append(f"{mutant.name}: {mutant.killed_by} does not exist")
    return [*messages, *undefined_names(changed)]


def undefined_names(texts: Mapping[str, str]) -> list[str]:
    """Return what ruff reports of undefined names. A mutant that uses one would crash instead of being caught.

    Args:
        texts: changed sources by the name of their mutant.
    """
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", "--no-cache"]
    command += ["--output-format", "concise", "--select", "F821,F823", "."]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for name, text in texts.items():
            Path(folder, f"{name}.py").write_text(text)
        found = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    return (found.stdout + found.stderr).splitlines() if found.returncode else []


def _defined(test: str, root: Path) -> bool:
    """Whether a test stands in its file. The case in brackets is not looked up."""
    path, *names = test.partition("[")[0].split("::")
    if not (root / path).is_file():
        return False
    scope = ast.parse((root / path).read_text()).body
    for name in names:
        found = [node for node in scope if isinstance(node, _DEFINITIONS) and node.name == name]
        if len(found) != 1:
            return False
        scope = found[0].body
    return bool(names)


_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
