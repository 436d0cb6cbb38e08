"""The fault drill: ``python -m tests.faults.drill --rounds 300 --seed 1``.

Every round is one small publication over HTTP on a real embedded stack, with a fault or two at random moments; then
the checks of tests.faults.checks. A violation names the seed and the round; ``--seed S --round N`` does that round
again alone (the same faults at the same moments; what the machine makes of them is its own).
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from benchmarks.results_file import merge
from tests.faults.checks import (
    Essence,
    essence_of,
    final_violations,
    litter,
    note_history,
    violations,
)
from tests.faults.errand import MOMENTS, PATIENCE_SECONDS, REQUESTS, Publication, write_rows
from tests.faults.faults import FAULTS, Afterwards, NothingToHit, Scene
from tests.faults.processes import wait_until
from tests.faults.stack import Stack

SECOND_FAULT: Final = 0.25
LONGEST_DELAY: Final = 0.3
LONGEST_DELAY_OF_REQUESTS: Final = 0.03
"""A request is over in less; what the worker does takes longer."""
UNDISTURBED: Final = "undisturbed"
_BEGUN: Final = datetime.now(UTC).date()


@dataclass(frozen=True)
class Blow:
    """One fault of a round.

    Attributes:
        kind: key of FAULTS.
        moment: one of MOMENTS.
        share: of the training's steps, where the moment is the training.
        delay_seconds: after the moment.
    """

    kind: str
    moment: str
    share: float
    delay_seconds: float

    @property
    def place(self) -> tuple[int, float]:
        """What `Errand.moment` must have come to."""
        return MOMENTS.index(self.moment), self.share if self.moment == "train" else 0.0


@dataclass
class Round:
    """What a round did and found."""

    number: int
    blows: list[Blow]
    landed: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    state: str = ""
    attempts: int = 0
    broken: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0


def blows_of(seed: int, number: int) -> list[Blow]:
    """The faults of a round, fixed by seed and number; every kind once before any comes again."""
    kinds = list(FAULTS)
    cycle, place = divmod(number - 1, len(kinds))
    order = np.random.default_rng([seed, cycle]).permutation(len(kinds))
    draw = np.random.default_rng([seed, cycle, place])
    chosen = [kinds[order[place]]]
    if draw.random() < SECOND_FAULT:
        chosen.append(kinds[int(draw.integers(len(kinds)))])
    blows = []
    for kind in chosen:
        moments = FAULTS[kind].moments
        moment = moments[int(draw.integers(len(moments)))]
        longest = LONGEST_DELAY_OF_REQUESTS if moment in REQUESTS else LONGEST_DELAY
        share, delay = float(draw.uniform(0, 0.9)), float(draw.uniform(0, longest))
        blows.append(Blow(kind, moment, round(share, 2), round(delay, 3)))
    return sorted(blows, key=lambda blow: blow.place)


def reached(errand: Publication, blow: Blow) -> bool:
    """Whether it is time for a fault, or too late for it."""
    return errand.moment() >= blow.place or not errand.is_alive()


def concluded(later: Sequence[Afterwards]) -> list[str]:
    """Make good what faults left. Returns what that found wrong."""
    return [found for afterwards in later if afterwards is not None for found in afterwards() or ()]


class Drill:
    """Rounds on one stack.

    Args:
        folder: an empty folder for the stack and the table.
        seed: of everything that is drawn.
        keep: where the logs of a round with a violation go; None keeps none.

    Attributes:
        stack: what is disturbed.
    """

    def __init__(self, folder: Path, *, seed: int, keep: Path | None = None) -> None:
        self.seed = seed
        self.rounds: list[Round] = []
        self._keep = keep
        self._folder = folder
        self._rows = write_rows(folder / "rows.csv")
        self.stack = Stack(folder / "data")
        self._reference: Essence | None = None

    def __enter__(self) -> Self:
        """Start the stack and make the undisturbed run that all others are compared with."""
        try:
            self.stack.start()
            note_history(self.stack)
            errand = Publication(self.stack, self._rows, name=UNDISTURBED)
            errand.start()
            errand.join()
            found = self._check(errand, frozenset({"succeeded"}))
            assert not found, found
            assert errand.job_id is not None
            self._reference = essence_of(self.stack, errand.job_id)
        except BaseException:
            self.stack.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind."""
        self.stack.end()

    def play(self, number: int) -> Round:
        """Do one round."""
        played = Round(number=number, blows=blows_of(self.seed, number))
        began = time.monotonic()
        try:
            self._play(played)
        except Exception as error:  # noqa: BLE001 - a drill goes on; the round is reported
            played.violations.append(f"the round broke off: {type(error).__name__}: {error}")
            self._revive()
        played.seconds = round(time.monotonic() - began, 1)
        self.rounds.append(played)
        if played.violations and self._keep is not None:
            target = self._keep / f"seed-{self.seed}-round-{number}"
            shutil.copytree(self.stack.folder.path / "logs", target, dirs_exist_ok=True)
            (target / "supervisor.log").write_text("\n".join(self.stack.said) + "\n")
        return played

    def _play(self, played: Round) -> None:
        errand = Publication(self.stack, self._rows, name=f"round {played.number}")
        draw = np.random.default_rng([self.seed, played.number, 1])
        scene = Scene(self.stack, errand, self._folder, draw)
        errand.start()
        later: list[Afterwards] = []
        ends = frozenset({"succeeded"})
        try:
            for blow in played.blows:
                wait_until(
                    partial(reached, errand, blow),
                    seconds=PATIENCE_SECONDS,
                    look_seconds=0.005 if blow.moment in REQUESTS else 0.02,
                )
                time.sleep(blow.delay_seconds)
                try:
                    afterwards = FAULTS[blow.kind].action(scene)
                except NothingToHit:
                    played.missed.append(blow.kind)
                    continue
                in_time = errand.is_alive() or FAULTS[blow.kind].beside
                (played.landed if in_time else played.missed).append(blow.kind)
                ends |= FAULTS[blow.kind].ends
                later.append(afterwards)
            errand.join(PATIENCE_SECONDS)
        finally:
            played.violations += concluded(later)
        if errand.is_alive():
            played.violations.append(f"the job never ended; it is at {errand.moment()}")
        played.broken = errand.broken
        played.violations += self._check(errand, ends)
        if errand.job is not None:
            played.state = errand.job.state
            played.attempts = scene.fence()

    def disturb(self, kind: str) -> list[str]:
        """Do one fault that needs no publication. Returns what it violated."""
        idle = Publication(self.stack, self._rows, name="none")
        scene = Scene(self.stack, idle, self._folder, np.random.default_rng([self.seed, 0]))
        found = concluded([FAULTS[kind].action(scene)])
        return found + violations(self.stack, dataset_id=None, reference=None, ends=frozenset())

    def _check(self, errand: Publication, ends: frozenset[str]) -> list[str]:
        found = [] if errand.problem is None else [f"the errand failed at {errand.problem}"]
        if not self.stack.await_health():
            found.append("the stack did not become well again")
            self._revive()
        return found + violations(
            self.stack, dataset_id=errand.dataset_id, reference=self._reference, ends=ends
        )

    def _revive(self) -> None:
        """Give the next round a stack that works."""
        self.stack.end()
        self.stack.start()

    def conclude(self) -> list[str]:
        """What must hold for everything that all rounds left."""
        return final_violations(self.stack)

    def litter(self) -> int:
        """Files that nobody names, left for upkeep."""
        return litter(self.stack)


def report(drill: Drill, last: Sequence[str], *, litter: int, seconds: float) -> dict[str, Any]:
    """The result as JSON."""
    landed = Counter(kind for played in drill.rounds for kind in played.landed)
    missed = Counter(kind for played in drill.rounds for kind in played.missed)
    found = [
        {"seed": drill.seed, "round": played.number, "faults": played.landed, "violation": violation}
        for played in drill.rounds
        for violation in played.violations
    ]
    found += [{"seed": drill.seed, "round": 0, "faults": [], "violation": each} for each in last]
    return {
        "seed": drill.seed,
        "rounds": len(drill.rounds),
        "faults": {kind: landed[kind] for kind in FAULTS},
        "faults_total": landed.total(),
        "faults_too_late": missed.total(),
        "job_states": dict(Counter(played.state for played in drill.rounds)),
        "attempts": dict(sorted(Counter(played.attempts for played in drill.rounds).items())),
        "answers_that_said_internal_error": sum(len(played.broken) for played in drill.rounds),
        "files_left_for_upkeep": litter,
        "violations": found,
        "seconds": round(seconds),
    }


def show(result: dict[str, Any]) -> None:
    """Print the table for people."""
    print(f"\n{'fault':<24}{'done':>6}")
    for kind, count in result["faults"].items():
        print(f"{kind:<24}{count:>6}")
    print(f"{'all':<24}{result['faults_total']:>6}   (in {result['rounds']} rounds, {result['seconds']} s)")
    print(f"violations: {len(result['violations'])}")
    for each in result["violations"]:
        print(f"  seed {each['seed']} round {each['round']} {each['faults']}: {each['violation']}")


def arguments(prog: str, description: str | None, *, rounds: int) -> argparse.ArgumentParser:
    """Command-line arguments of a drill.

    Args:
        prog: its module.
        description: its docstring.
        rounds: how many it plays unless told otherwise.
    """
    parser = argparse.ArgumentParser(
        prog=prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int, help="only this round; its result is not kept")
    parser.add_argument("--out", type=Path, help="a JSON file that keeps the result of each seed")
    parser.add_argument("--keep", type=Path, help="folder for the logs of rounds with violations")
    return parser


def main(words: Sequence[str]) -> int:
    """Run the drill; the exit status says whether everything held."""
    told = arguments("tests.faults.drill", __doc__, rounds=25).parse_args(words)
    numbers = [told.round] if told.round else range(1, told.rounds + 1)
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="drill-") as folder,
        Drill(Path(folder), seed=told.seed, keep=told.keep) as drill,
    ):
        for number in numbers:
            played = drill.play(number)
            blows = ", ".join(f"{blow.kind} at {blow.moment}" for blow in played.blows)
            print(
                f"round {number}: {blows}: {played.state}, {played.attempts} attempts, {played.seconds} s"
                + "".join(f"\n  VIOLATION {each}" for each in played.violations)
                + (f"\n  internal errors at {played.broken}" if played.broken else ""),
                flush=True,
            )
            if told.out and not told.round:
                save(report(drill, [], litter=0, seconds=time.monotonic() - began), told.out)
        result = report(drill, drill.conclude(), litter=drill.litter(), seconds=time.monotonic() - began)
    show(result)
    if told.out and not told.round:
        save(result, told.out)
    return 1 if result["violations"] else 0


def save(result: dict[str, Any], path: Path) -> None:
    """Put the result of this seed on this day beside the others."""
    key = f"seed {result['seed']}, {_BEGUN}"
    merge(path.stem, kind="runs", key=key, entry=result, folder=path.parent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
