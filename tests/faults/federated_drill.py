"""The fault drill of consortiums: ``python -m tests.faults.federated_drill --rounds 22 --seed 1``.

Every round is one training of several owners with one fault, on real embedded stacks: each owner has a service, a database, a key
and a ledger of its own, or all owners' rows lie in one service. A violation names the seed and the round.
"""

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from tests.faults.checks import note_history
from tests.faults.consortium import Federation, Member
from tests.faults.drill import arguments, save
from tests.faults.errand import OwnersOrder, write_rows
from tests.faults.faults import NothingToHit
from tests.faults.federated_checks import note_states
from tests.faults.federated_faults import FAULTS
from tests.faults.scene import Scene
from tests.faults.stack import Stack

OWNERS: Final = ("north", "south")


@dataclass
class Round:
    """Faults and violations of a round."""

    number: int
    fault: str
    landed: bool = True
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0


def fault_of(seed: int, number: int) -> str:
    """The fault of a round, fixed by seed and number; every kind once before any comes again."""
    kinds = list(FAULTS)
    cycle, place = divmod(number - 1, len(kinds))
    return kinds[np.random.default_rng([seed, cycle]).permutation(len(kinds))[place]]


class FederatedDrill:
    """Rounds on the stacks of two owners.

    Args:
        folder: an empty folder for stacks and files.
        seed: of everything that is drawn.
        keep: where the logs of a round with a violation go; None keeps none.
    """

    def __init__(self, folder: Path, *, seed: int, keep: Path | None = None) -> None:
        self.seed, self._folder, self._keep = seed, folder, keep
        self.rounds: list[Round] = []
        self.seen: list[tuple[Federation, Member]] = []
        self.orders: list[OwnersOrder] = []
        self.stacks: dict[str, Stack] = {}
        self._rows = write_rows(folder / "rows.csv")

    def __enter__(self) -> Self:
        """Return it; stacks start when a round needs them."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind."""
        for stack in self.stacks.values():
            stack.end()

    def require(self, services: int) -> None:
        """Have so many owners' stacks running and well."""
        missing = [name for name in OWNERS[:services] if name not in self.stacks]
        for name in missing:
            self.stacks[name] = Stack(self._folder / name, entropy="drawn")
            self.stacks[name].launch()
        for name in missing:
            self.stacks[name].await_start()
            note_history(self.stacks[name])
            note_states(self.stacks[name])
        for name in OWNERS[:services]:
            if not self.stacks[name].await_health():
                self.stacks[name].end()
                self.stacks[name].start()

    def play(self, number: int, fault: str | None = None) -> Round:
        """Do one round.

        Args:
            number: gives its random numbers, and its fault where none is named.
            fault: of `FAULTS`.
        """
        played = Round(number, fault or fault_of(self.seed, number))
        kind = FAULTS[played.fault]
        began = time.monotonic()
        try:
            self.require(kind.services)
            scene = Scene(
                {name: self.stacks[name] for name in OWNERS[: kind.services]},
                self._folder,
                self._rows,
                np.random.default_rng([self.seed, number, list(FAULTS).index(played.fault)]),
                self.seen,
                self.orders,
            )
            played.violations = kind.play(scene)
        except NothingToHit:
            played.landed = False
        except Exception as error:  # noqa: BLE001 - a drill goes on; the round is reported
            played.violations.append(f"the round broke off: {type(error).__name__}: {error}")
        played.seconds = round(time.monotonic() - began, 1)
        self.rounds.append(played)
        if played.violations and self._keep is not None:
            for name, stack in self.stacks.items():
                target = self._keep / f"seed-{self.seed}-round-{number}-{name}"
                shutil.copytree(stack.folder.path / "logs", target, dirs_exist_ok=True)
        return played


def report(drill: FederatedDrill, *, seconds: float) -> dict[str, Any]:
    """The result as JSON."""
    done = Counter(played.fault for played in drill.rounds if played.landed)
    return {
        "seed": drill.seed,
        "rounds": len(drill.rounds),
        "faults": {kind: done[kind] for kind in FAULTS},
        "faults_too_late": len(drill.rounds) - done.total(),
        "violations": [
            {"seed": drill.seed, "round": played.number, "fault": played.fault, "violation": each}
            for played in drill.rounds
            for each in played.violations
        ],
        "seconds": round(seconds),
    }


def main(words: Sequence[str]) -> int:
    """Run the drill; the exit status says whether everything held."""
    parser = arguments("tests.faults.federated_drill", __doc__, rounds=len(FAULTS))
    parser.add_argument("--fault", choices=FAULTS, help="only this fault, in every round")
    told = parser.parse_args(words)
    numbers = [told.round] if told.round else range(1, told.rounds + 1)
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="drill-") as folder,
        FederatedDrill(Path(folder), seed=told.seed, keep=told.keep) as drill,
    ):
        for number in numbers:
            played = drill.play(number, told.fault)
            print(
                f"round {number}: {played.fault}: {played.seconds} s{'' if played.landed else ', too late'}"
                + "".join(f"\n  VIOLATION {each}" for each in played.violations),
                flush=True,
            )
            result = report(drill, seconds=time.monotonic() - began)
            if told.out:
                save(result, told.out)
    print(f"violations: {len(result['violations'])} in {result['rounds']} rounds, {result['seconds']} s")
    return 1 if result["violations"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
