"""Expected errors of counts in quotes, beside the errors of trainings: real tables, by size and epsilon.

    python -m benchmarks.tables.expected --save

The expectation sees public facts alone; the measured distances compare as many synthetic rows as there are training rows with those.
"""

import argparse
import itertools
import json
from typing import Any

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import merge, rounded
from benchmarks.tables.methods import make
from benchmarks.tables.scores import distances
from benchmarks.tables.sources import SOURCES, split
from benchmarks.tables.task import Task
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.expected_error import ExpectedError
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from core.plan.training_quote import expected_error_in
from models.encoding import codes_alone

NAME = "expected_error"
KIND = "cells"
DELTA = 1e-6
TABLES = ("adult", "bank", "nist-ma", "taxi", "poker", "diabetes")
SIZES = ("500", "2000", "full")
WAYS = ("one_way", "two_way", "three_way")


def key_of(table: str, size: str, epsilon: float, seed: int) -> str:
    """The name of a cell in the results."""
    return f"{table}, {size}, epsilon {epsilon:g}, seed {seed}"


def cell(table: str, size: str, epsilon: float, seed: int) -> dict[str, Any]:
    """Expect, then train and measure."""
    rows = split(table, size, seed)
    codes, domain = rows.train_codes, rows.domain
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=len(codes),
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    task = Task(
        codes=codes, cardinalities=domain.cardinalities, target=rows.target,
        ordered=domain.ordered, alone=codes_alone(domain), epsilon=epsilon, delta=DELTA, seed=seed,
    )  # fmt: skip
    found = expected_error_in(plan, domain)
    assert isinstance(found, ExpectedError), "counts of a table are expected"
    made = make("understudy", task)
    measured = distances(made.codes, codes, domain.cardinalities, rows.target)
    return {
        "table": table, "size": size, "rows": len(codes), "columns": len(domain.cardinalities), "epsilon": epsilon, "seed": seed,
        "expected": found.to_json(),
        "measured": rounded({way: measured[way] for way in WAYS}),
        "load_average": load_average(), "machine": machine_facts(packages=("numpy", "scipy", "torch")),
    }  # fmt: skip


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", nargs="+", choices=list(SOURCES), default=list(TABLES))
    parser.add_argument("--size", nargs="+", default=list(SIZES))
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0])
    parser.add_argument("--seed", nargs="+", type=int, default=[0])
    parser.add_argument("--save", action="store_true", help="write the cells into the results")
    chosen = parser.parse_args()
    for table, size, epsilon, seed in itertools.product(
        chosen.table, chosen.size, chosen.epsilon, chosen.seed
    ):
        found = cell(table, size, epsilon, seed)
        if chosen.save:
            merge(NAME, kind=KIND, key=key_of(table, size, epsilon, seed), entry=found)
        print(json.dumps({key_of(table, size, epsilon, seed): found}), flush=True)


if __name__ == "__main__":
    main()
