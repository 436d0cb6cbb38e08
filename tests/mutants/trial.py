"""One trial: a copy of the source tree, a bug put into it, and the named test run on it in a process of its own.

The working tree is never touched. A mutant is killed only if the test passes on the copy as it is and fails, in its own
body and by what it expects, once the bug is in; a copy that cannot be imported or a test that breaks off proves nothing.
"""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.mutants.mutant import ROOT, Mutant

COPIED = (
    "core",
    "service",
    "workers",
    "models",
    "understudy",
    "migrations",
    "benchmarks",
    "docs",
    "tests",
    "docker",
)
FILES = ("pyproject.toml", "alembic.ini", "README.md", "Makefile", "requirements.lock", "docker-compose.yml")
_SECONDS = 600
_SAID = 4000
_CRASHES = {"SyntaxError", "ImportError", "NameError", "AttributeError", "TypeError"}
"""What a clumsy mutant raises by itself: no test has then caught anything."""


class Verdict(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    CRASHED = "crashed"
    """Nothing was learnt: an error while collecting or setting up, or of a kind that only a broken mutant raises."""
    HUNG = "hung"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The outcome of one mutant."""

    mutant: Mutant
    verdict: Verdict
    seconds: float
    said: str
    """The end of what pytest printed."""


class SourceCopy:
    """A copy of the sources and tests in a folder of its own.

    Args:
        folder: does not exist yet.
        rewritten: files to pass through `ast.unparse`, as `Mutant.applied` does, so that a trial differs from the sound
            copy by its bug alone.
    """

    def __init__(self, folder: Path, *, rewritten: Collection[str]) -> None:
        self._root = folder / "copy"
        self._folder = folder
        for name in COPIED:
            # With compiled files, where there are any: they are valid as long as the times of their sources are kept.
            shutil.copytree(ROOT / name, self._root / name, ignore=shutil.ignore_patterns("results"))
        for name in FILES:
            shutil.copy2(ROOT / name, self._root / name)
        for name in rewritten:
            source = self._root / name
            source.write_text(ast.unparse(ast.parse(source.read_text())))

    def failing(self, tests: Sequence[str]) -> str:
        """Run tests on the copy as it is. Returns what they said if they do not all pass, else nothing."""
        cases, said = self._run(tests, module="core", keep_bytecode=True)
        passed = {
            case["test"] for case in cases or () if case["when"] == "call" and case["outcome"] == "passed"
        }
        missing = [
            test for test in tests if not any(each == test or each.startswith(f"{test}[") for each in passed)
        ]
        bad = [case for case in cases or () if case["outcome"] != "passed"]
        return "" if cases and not missing and not bad else f"not passing: {missing or bad}\n{said}"

    def try_out(self, mutant: Mutant) -> Trial:
        """Put the bug in, run its test, take the bug out again."""
        source = self._root / mutant.path
        kept, times = source.read_text(), source.stat()
        started = time.monotonic()
        source.write_text(mutant.applied(kept))
        try:
            cases, said = self._run([mutant.killed_by], module=mutant.module, keep_bytecode=False)
        except subprocess.TimeoutExpired:
            cases, said, verdict = None, "", Verdict.HUNG
        else:
            verdict = judge(cases)
        finally:
            source.write_text(kept)
            os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
        return Trial(mutant=mutant, verdict=verdict, seconds=time.monotonic() - started, said=said)

    def _run(
        self, tests: Sequence[str], *, module: str, keep_bytecode: bool
    ) -> tuple[list[dict[str, str]] | None, str]:
        """Run tests. Returns the report, None where there is none, and the end of the output."""
        report = self._folder / "report.json"
        report.unlink(missing_ok=True)
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "tests.mutants.reporting",
            "-m",
            "",  # weekly cases too
        ]
        words += ["-o", "timeout=0", "--hypothesis-seed=0", f"--basetemp={self._folder / 'tests'}"]
        words += [] if keep_bytecode else ["-x"]
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("UNDERSTUDY_", "PYTEST_", "COV_")) and name != "PYTHONDONTWRITEBYTECODE"
        }
        environment |= {
            "PYTHONPATH": str(self._root),
            "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "PASSIVE",
            "MUTANT_REPORT": str(report),
            "MUTANT_MODULE": module,
            # Compiled once, while nothing is changed; what a mutant changes is compiled in memory alone.
        } | ({} if keep_bytecode else {"PYTHONDONTWRITEBYTECODE": "1"})
        with subprocess.Popen(
            [*words, *tests],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._root,
            env=environment,
            start_new_session=True,
        ) as running:
            try:
                printed, _ = running.communicate(timeout=_SECONDS)
            except BaseException:
                # The whole session: what a mutant has let loose must not outlive its trial.
                os.killpg(running.pid, signal.SIGKILL)
                raise
        return (json.loads(report.read_text()) if report.exists() else None), printed[-_SAID:]


def judge(cases: Sequence[dict[str, str]] | None) -> Verdict:
    """What a report says of a mutant."""
    if not cases or any(
        case["outcome"] == "failed" and case["when"] in {"collect", "setup"} for case in cases
    ):
        return Verdict.CRASHED
    failed = [case for case in cases if case["outcome"] == "failed" and case["when"] == "call"]
    if any(_CRASHES & set(case["kind"].split()) for case in failed):
        return Verdict.CRASHED
    return Verdict.KILLED if failed else Verdict.SURVIVED
