"""A generator over four owners' rows of Adult, beside one under a noise of each owner's own, and each owner alone.

    python -m benchmarks.several_owners_tables [--split even|skewed] [--epsilon 1]

Split evenly, every owner has a random quarter; skewed, a quarter each by age. *Together* adds the counts of all owners before one noise. *Own
noise* is what an owner's process could hand in if the service saw no row: each adds the noise that its own ledger is charged for, so the
sums have four times the variance. Keys derive from seeds, so the result of a benchmark is NOT PRIVATE.
"""

import argparse
from typing import Any, Final

import numpy as np
import torch

from benchmarks.datasets import Codes
from benchmarks.machine import load_average
from benchmarks.results_file import merge, rounded
from benchmarks.tables.methods import key_of
from benchmarks.tables.ours import sample
from benchmarks.tables.scores import distances
from benchmarks.tables.sources import Split, split
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.plan.stages import AnchorPlan
from models.counting.memory import MemoryCounter
from models.counting.streamed import JointCounter
from models.encoding import PrivateTable, codes_alone, ordered_columns
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

NAME: Final = "several_owners_tables"
OWNERS, DELTA = 4, 1e-6


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=("even", "skewed"), default="even")
    parser.add_argument("--epsilon", type=float, default=1.0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    table = split("adult", "full", 0)
    owners = _owners(table, chosen.split)
    plan = _plan(table, table.train.num_rows, chosen.epsilon)
    runs = {"together": (owners, plan), "own noise": (owners, _noisier(table, plan, OWNERS**0.5))}
    runs |= {
        f"owner {place} alone": ([own], _plan(table, len(own), chosen.epsilon))
        for place, own in enumerate(owners, start=1)
    }
    for which, (parts, of_run) in runs.items():
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


def _noisier(table: Split, plan: Plan, factor: float) -> Plan:
    """The plan by the public rules whose counts have so many times the noise, to a thousandth."""
    low, high = plan.guarantee.epsilon / (4 * factor), plan.guarantee.epsilon
    while True:
        middle = (low + high) / 2
        made = _plan(table, plan.declared_size, middle)
        ratio = _noise(made) / (factor * _noise(plan))
        if abs(ratio - 1) < 1e-3:
            return made
        low, high = (middle, high) if ratio > 1 else (low, middle)


def _noise(plan: Plan) -> float:
    """The Gaussian multiplier of one release that is as precise as all of the plan together."""
    assert isinstance(plan.anchor, AnchorPlan), "a plan of counts"
    precision = sum(times / noise**2 for _name, times, _sensitivity, noise in plan.anchor.releases)
    return float(precision**-0.5)


def _scored(table: Split, parts: list[Codes], plan: Plan) -> dict[str, Any]:
    """Distances of synthetic rows from all owners' rows."""
    counters = [
        MemoryCounter(
            PrivateTable(
                codes=codes.astype(np.int16),
                unit_of_record=np.arange(len(codes), dtype=np.int64),
                cardinalities=table.domain.cardinalities,
                target_index=table.domain.target_index,
                ordered=ordered_columns(table.domain),
                alone=codes_alone(table.domain),
            )
        )
        for codes in parts
    ]
    generator = IdpganSynthesizer().fit(JointCounter(counters), plan, KeyedStreams(key_of(0)), NullHost())
    made = sample(generator, table.train.num_rows, table.domain.to_json())
    return distances(made, table.train_codes, table.domain.cardinalities, table.target)


if __name__ == "__main__":
    main()
