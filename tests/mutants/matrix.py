"""Try mutants: `python -m tests.mutants.matrix --jobs 2` tries all of them, `... matrix NAME` only those named.

Before any trial starts, all chosen mutants are checked against the source; `--fits` does only that. The outcomes go into
benchmarks/results/mutants.json and docs/kill-matrix.md. The exit status is 1 if a mutant does not fit, survives or crashes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from benchmarks.machine import machine_facts
from tests.mutants.catalogue import MUTANTS
from tests.mutants.fits import misfits
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.page import RESULTS, read_results
from tests.mutants.trial import SourceCopy, Trial, Verdict


def try_all(mutants: Sequence[Mutant], *, jobs: int, folder: Path) -> list[Trial]:
    """Try mutants, each on a copy that nothing else uses meanwhile.

    Args:
        mutants: which.
        jobs: how many copies.
        folder: where the copies are made.

    Raises:
        RuntimeError: a named test does not pass on the sources as they are.
    """
    free: SimpleQueue[SourceCopy] = SimpleQueue()
    rewritten = {mutant.path for mutant in mutants}
    copies = [SourceCopy(folder / str(number), rewritten=rewritten) for number in range(jobs)]
    for copy in copies:
        free.put(copy)

    def sound(tests: Sequence[str]) -> str:
        copy = free.get()
        try:
            return copy.failing(tests)
        finally:
            free.put(copy)

    def attempt(mutant: Mutant) -> Trial:
        copy = free.get()
        try:
            trial = copy.try_out(mutant)
        finally:
            free.put(copy)
        print(f"{trial.verdict:9}{trial.seconds:7.1f} s  {mutant.name}", flush=True)
        return trial

    with ThreadPoolExecutor(jobs) as pool:
        tests = sorted({mutant.killed_by for mutant in mutants})
        parts = [tests[number::jobs] for number in range(min(jobs, len(tests)))]
        broken = "\n".join(filter(None, pool.map(sound, parts)))
        if broken:
            raise RuntimeError(broken)
        return list(pool.map(attempt, mutants))


def write(trials: Sequence[Trial]) -> None:
    """Put the outcomes of trials in the place of former ones, drop those of mutants that are gone."""
    known = {mutant.name for mutant in MUTANTS}
    outcomes = read_results().get("mutants", {})
    outcomes |= {
        trial.mutant.name: {
            "commit": _commit(),
            "killed_by": trial.mutant.killed_by,
            "seconds": round(trial.seconds, 1),
            "verdict": trial.verdict.value,
        }
        for trial in trials
    }
    results = {
        "machine": machine_facts(packages=("numpy", "torch", "pytest", "hypothesis")),
        "mutants": {name: outcome for name, outcome in sorted(outcomes.items()) if name in known},
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def _commit() -> str:
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def main(words: Sequence[str]) -> int:
    """Check and try the chosen mutants. Return the exit status."""
    parser = argparse.ArgumentParser(description="Puts privacy bugs into copies of the source, one by one.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to try; default: all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fits", action="store_true", help="only check that the mutants fit the source")
    told = parser.parse_args(words)
    if unknown := set(told.names) - {mutant.name for mutant in MUTANTS}:
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in MUTANTS if not told.names or mutant.name in told.names]
    if problems := misfits(chosen):
        print(*problems, sep="\n")
        print(f"{len(problems)} problems: rewrite these mutants, nothing was tried")
        return 1
    if told.fits:
        print(f"{len(chosen)} mutants fit the source")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trials = try_all(chosen, jobs=told.jobs, folder=Path(folder))
    write(trials)
    left = [trial for trial in trials if trial.verdict is not Verdict.KILLED]
    for trial in left:
        print(f"\n{trial.mutant.name}: {trial.verdict} {trial.mutant.killed_by}\n{trial.said}")
    print(f"{len(trials) - len(left)} of {len(trials)} killed")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
