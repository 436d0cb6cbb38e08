"""A generator over four owners' rows of Adult, beside one under a noise of each owner's own, and each owner alone.

    python -m benchmarks.several_owners_tables [--split even|skewed] [--epsilon 1]

Split evenly, every owner has a random quarter; skewed, a quarter each by age. *Together* adds the counts of all owners before one noise. *Own
noise* is a federation: every owner counts in a process of its own, here a thread, adds the noise that its own ledger is charged for, and hands in
the noisy counts, so the sums have four times the variance. Keys derive from seeds, so the result of a benchmark is NOT PRIVATE.
"""

import argparse
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import numpy as np
import torch

from benchmarks.datasets import Codes
from benchmarks.machine import load_average
from benchmarks.results_file import merge, rounded
from benchmarks.tables.ours import sample
from benchmarks.tables.scores import distances
from benchmarks.tables.sources import Split, split
from benchmarks.tables.task import key_of
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.several_owners.federation import Federation, FederationMember
from core.plan.several_owners.member_plan import MemberPlan, make_member_plan
from core.plan.spec import SynthesisSpec
from models.counting.memory import MemoryCounter
from models.counting.question import Counter
from models.counting.streamed import JointCounter
from models.encoding import PrivateTable, codes_alone
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost, TrainedGenerator
from models.tables.measurement.count_rounds import CountRounds
from models.tables.measurement.measure import measure

NAME: Final = "several_owners_tables"
OWNERS, DELTA = 4, 1e-6


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=("even", "skewed"), default="even")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--which", default="", help="only runs whose name begins so")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    table = split("adult", "full", 0)
    owners = _owners(table, chosen.split)
    plan = _plan(table, table.train.num_rows, chosen.epsilon)
    runs: dict[str, tuple[list[Codes], Plan]] = {
        "together": (owners, plan),
        "own noise": (owners, _members(table, owners, chosen.epsilon)),
    }
    runs |= {
        f"owner {place} alone": ([own], _plan(table, len(own), chosen.epsilon))
        for place, own in enumerate(owners, start=1)
    }
    for which, (parts, of_run) in runs.items():
        if not which.startswith(chosen.which):
            continue
        entry = {
            "split": chosen.split, "epsilon": chosen.epsilon, "delta": DELTA, "which": which, "units": of_run.declared_size,
            "epsilon_of_the_plan": of_run.guarantee.epsilon, "load": load_average(), **rounded(_scored(table, parts, of_run)),
        }  # fmt: skip
        print(entry, flush=True)
        merge(NAME, kind="runs", key=f"adult {chosen.split} {chosen.epsilon:g} {which}", entry=entry)


def _owners(table: Split, kind: str) -> list[Codes]:
    """The coded rows of each owner."""
    rows = table.train.num_rows
    order = np.random.default_rng(0).permutation(rows)
    if kind == "skewed":
        ages = [column.name for column in table.domain.coded].index("age")
        order = np.argsort(table.train_codes[:, ages], kind="stable")
    return [table.train_codes[np.sort(own)] for own in np.array_split(order, OWNERS)]


def _plan(table: Split, rows: int, epsilon: float) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan"),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=rows,
        domain=table.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def _members(table: Split, owners: list[Codes], epsilon: float) -> MemberPlan:
    """The plan of the first owner in a federation of all."""
    members = tuple(
        FederationMember(name=f"owner-{place}", declared_size=len(own))
        for place, own in enumerate(owners, start=1)
    )
    return make_member_plan(
        spec=SynthesisSpec(synthesizer="idpgan"),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=table.train.num_rows,
        domain=table.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        federation=Federation(federation_id=str(UUID(int=0)), member="owner-1", members=members),
    )


class _Board:
    """Hands every owner the counts of all, once all have handed in theirs."""

    def __init__(self) -> None:
        self._arrived = threading.Barrier(OWNERS)
        self._states: dict[tuple[int, int], bytes] = {}

    def view(self, place: int) -> "_View":
        return _View(self, place)

    def exchange(self, number: int, place: int, state: bytes) -> Sequence[bytes]:
        self._states[number, place] = state
        self._arrived.wait(600)
        return [self._states[number, each] for each in range(OWNERS)]


class _View:
    """The board as one owner sees it."""

    def __init__(self, board: _Board, place: int) -> None:
        self._board, self._place = board, place

    def exchange(self, number: int, state: bytes) -> Sequence[bytes]:
        """Hand in the own counts."""
        return self._board.exchange(number, self._place, state)


def _federated(counters: list[Counter], plan: MemberPlan) -> TrainedGenerator:
    """The generator of the first member; those of the others are the same, and are not fitted."""
    board = _Board()
    plans = [
        replace(plan, federation=replace(plan.federation, member=one.name)) for one in plan.federation.members
    ]
    rounds = [
        CountRounds(NullHost(), board.view(place), own.federation, rounds=own.rounds)
        for place, own in enumerate(plans)
    ]
    streams = [KeyedStreams(key_of(place)) for place in range(OWNERS)]
    with ThreadPoolExecutor(OWNERS) as threads:
        others = [
            threads.submit(measure, counters[place], plans[place], streams[place], exchange=rounds[place])
            for place in range(1, OWNERS)
        ]
        generator = IdpganSynthesizer(exchange=rounds[0]).fit(counters[0], plan, streams[0], rounds[0])
        for other in others:
            other.result()
    return generator


def _scored(table: Split, parts: list[Codes], plan: Plan) -> dict[str, Any]:
    """Distances of synthetic rows from all owners' rows."""
    counters: list[Counter] = [
        MemoryCounter(
            PrivateTable(
                codes=codes.astype(np.int16),
                unit_of_record=np.arange(len(codes), dtype=np.int64),
                cardinalities=table.domain.cardinalities,
                target_index=table.domain.target_index,
                ordered=table.domain.ordered,
                alone=codes_alone(table.domain),
            )
        )
        for codes in parts
    ]
    generator = (
        _federated(counters, plan)
        if isinstance(plan, MemberPlan)
        else IdpganSynthesizer().fit(JointCounter(counters), plan, KeyedStreams(key_of(0)), NullHost())
    )
    made = sample(generator, table.train.num_rows, table.domain.to_json())
    return distances(made, table.train_codes, table.domain.cardinalities, table.target)


if __name__ == "__main__":
    main()
