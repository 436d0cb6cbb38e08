"""Run the long proofs and record the outcome: `python -m tests.long_proofs [PART ...]`; all parts without any.

A part that fails does not keep later ones from running. The outcomes go into benchmarks/results/long_proofs.json as soon as it ends. The exit status is 1 if a part failed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from benchmarks.machine import machine_facts
from docs.long_proofs_page import PARTS, RESULTS

ROOT: Final = Path(__file__).parents[1]
_SUMMARY: Final = re.compile(r"^[= ]*\d+ [a-z, 0-9]* in [\d.]+s")
"""A line such as `12 passed, 1 skipped in 3.45s`, with which a run of pytest ends."""
_COUNT: Final = re.compile(r"(\d+) (passed|failed|error|skipped)")

Run = Callable[[str], tuple[int, list[str], float]]
"""Runs a Make target; returns its exit status, the lines that it printed and its seconds."""


def play(
    parts: Iterable[str], run: Run, *, commit: str, variables: str = "", results: Path = RESULTS
) -> bool:
    """Run parts and record each as soon as it ends. Returns whether all passed.

    Args:
        parts: Make targets of `PARTS`. Once all of them have run on one commit, at once or one after the other, this is recorded
            as the last whole run.
        run: Runs one.
        commit: What is tested.
        variables: The variables of Make that were set by hand, such as `ROUNDS=21`.
        results: The record.
    """
    played: list[dict[str, Any]] = []
    for part in parts:
        status, lines, seconds = run(part)
        facts = machine_facts(packages=())
        where = {"date": facts["date"], "commit": commit, "variables": variables} | {
            key: facts[key] for key in ("processor", "cores")
        }
        played.append(where | {"passed": status == 0, "seconds": round(seconds), "tests": counts(lines)})
        record = json.loads(results.read_text())
        record["parts"][part] = played[-1]
        latest = [record["parts"].get(each, {}) for each in PARTS]
        if all(each.get("commit") == commit for each in latest):
            record["whole"] = where | {
                "passed": all(each["passed"] for each in latest),
                "seconds": sum(each["seconds"] for each in latest),
            }
        results.write_text(json.dumps(record, indent=1) + "\n")
    return all(each["passed"] for each in played)


def counts(lines: Iterable[str]) -> dict[str, int]:
    """How many tests passed, failed and so on, summed over all runs of pytest in an output; empty without any."""
    found: dict[str, int] = {}
    for line in lines:
        if _SUMMARY.match(line):
            for number, word in _COUNT.findall(line):
                found[word] = found.get(word, 0) + int(number)
    return found


def set_by_hand(flags: str) -> str:
    r"""The variables that were set on make's command line, out of `MAKEFLAGS`, where blanks of a value follow a `\\`."""
    return re.sub(r"\\(?= )", "", " ".join(re.findall(r"\b[A-Z_]+=(?:\\ |\S)*", flags)))


def _commit() -> str:
    """The commit; a plus means that tracked files differ from it, other than the results and pages that parts write."""
    status = ("status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results", ":!docs")
    head, changes = (
        subprocess.run(["git", *words], check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
        for words in (("rev-parse", "--short=12", "HEAD"), status)
    )
    return head + ("+" if changes else "")


def _make(target: str) -> tuple[int, list[str], float]:
    """Run a Make target and show what it prints. `MAKEFLAGS` hands on the variables of an outer make, such as SEED."""
    begun, lines = time.monotonic(), []
    print(f"== make {target}", flush=True)
    with subprocess.Popen(
        ["make", target], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, lines, time.monotonic() - begun


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.long_proofs", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all without any")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such parts: {', '.join(sorted(unknown))}")
    passed = play(parts, _make, commit=_commit(), variables=set_by_hand(os.environ.get("MAKEFLAGS", "")))
    return not passed


if __name__ == "__main__":
    sys.exit(main())
