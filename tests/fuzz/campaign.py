"""Fuzzing for as long as one likes: ``python -m tests.fuzz.campaign --seconds 300 [parser ...]``, or ``make fuzz``.

Each parser runs in a child process of its own under a limit of address space. What breaks the promise (targets.py), ends
the process or takes too long is written into the corpus, where tests/fuzz/test_corpus.py replays it for ever.
"""

import argparse
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

from tests.fuzz.mutation import MUTATORS
from tests.fuzz.seeds import CORPUS
from tests.fuzz.targets import TARGETS, Broken, check

ADDRESS_SPACE_BYTES: Final = 3 << 30
RESIDENT_BYTES: Final = 1 << 30
INPUT_SECONDS: Final = 60
_INTERESTING: Final = 400


def say(line: str) -> None:
    """Tell the person who waits, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def limit_memory() -> None:
    """No input may ask this process for more than a moderate amount of memory."""

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def resident_bytes() -> int:
    """The most memory that this process has held so far; `getrusage` would count what its parent held at the fork."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def fuzz(name: str, *, seconds: float, seed: int, current: Path) -> int:
    """Try changed inputs until the time is over. Returns how many broke the promise.

    Args:
        name: The parser.
        seconds: How long.
        seed: Of the changes.
        current: Holds the input that is being tried, for the parent to find if this process ends.
    """
    limit_memory()
    target, mutators = TARGETS[name], MUTATORS[name]
    corpus = [file.read_bytes() for file in sorted((CORPUS / name).iterdir())]
    changes = random.Random(seed)
    outcomes: Counter[str] = Counter()
    found: set[str] = set()
    slowest, until = 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        content = changes.choice(mutators)(changes, changes.choice(corpus), corpus)
        current.write_bytes(content)
        signal.alarm(INPUT_SECONDS)
        # Making an input may take more than reading it.
        made = resident_bytes()
        began = time.monotonic()
        try:
            outcome = check(target, content)
        except Broken as broken:
            outcome = f"BROKEN {broken}"
            if outcome not in found:
                say(f"{name}: {outcome} ({broken.__cause__!r:.200}) -> {keep(name, content)}")
                found.add(outcome)
        slowest = max(slowest, time.monotonic() - began)
        if resident_bytes() > max(made, RESIDENT_BYTES):
            say(f"{name}: took more than {RESIDENT_BYTES} bytes -> {keep(name, content)}")
            return len(found) + 1
        # An outcome that was not seen before is a good place to go on from.
        if outcome not in outcomes and len(corpus) < _INTERESTING:
            corpus.append(content)
        outcomes[outcome] += 1
    signal.alarm(0)
    told = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common(12))
    say(
        f"{name}: {outcomes.total()} inputs, {len(found)} findings, slowest {slowest:.2f} s, "
        f"{resident_bytes() >> 20} MiB; {told}",
    )
    return len(found)


def keep(name: str, content: bytes) -> Path:
    """Write an input into the corpus."""
    place = CORPUS / name / f"finding-{hashlib.sha256(content).hexdigest()[:12]}"
    place.write_bytes(content)
    return place


def run(name: str, *, seconds: float, seed: int) -> int:
    """Fuzz in a child; an input that ends the child is a finding too, and the rest of the time is used by another."""
    findings, until = 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "input"
        while (left := until - time.monotonic()) > 1:
            words = ["--child", str(current), "--seconds", str(left), "--seed", str(seed), name]
            child = subprocess.run(
                [sys.executable, "-m", "tests.fuzz.campaign", *words],
                check=False,
                env=os.environ | {"MALLOC_ARENA_MAX": "2"},
            )
            if child.returncode >= 0:
                return findings + child.returncode
            say(
                f"{name}: ended by signal {-child.returncode} -> {keep(name, current.read_bytes())}",
            )
            findings, seed = findings + 1, seed + 1
    return findings


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Fuzz the parsers of what strangers send.")
    parser.add_argument("parsers", nargs="*", default=sorted(TARGETS), help="which; all by default")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each parser")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the changes")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.child is not None:
        return min(100, fuzz(told.parsers[0], seconds=told.seconds, seed=told.seed, current=told.child))
    return min(1, sum([run(name, seconds=told.seconds, seed=told.seed) for name in told.parsers]))


if __name__ == "__main__":
    sys.exit(main())
