"""Our tables beside AIM, MST, independent columns and the real rows: the same codes, splits and decoding for everybody.

    python -m benchmarks.tables --table adult --size 2000 --epsilon 1 --method mst --seed 0 --save
    python -m benchmarks.tables --all
    python -m benchmarks.tables --all --size 1000 --epsilon 1

One cell is one method on one table. `--all` makes what the results lack and keeps each cell as soon as it is there.
Seeds make the noise, so nothing that is made here is private.
"""

import argparse
import itertools
import json
import subprocess
from typing import Any

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import RESULTS, merge, rounded
from benchmarks.tables.methods import METHODS, ROOT, make
from benchmarks.tables.scores import distances, train_and_test
from benchmarks.tables.sources import SIZES, SOURCES, THOUSAND, split
from benchmarks.tables.task import PAPERS_MEGABYTES, Task
from models.encoding import codes_alone

NAME = "tables"
KIND = "cells"
DELTA = 1e-6
EPSILONS = (0.2, 1.0, 4.0, 10.0)
SEEDS = (0, 1, 2)


def key_of(table: str, size: str, epsilon: float, method: str, seed: int) -> str:
    """The name of a cell in the results."""
    return f"{table}, {size}, epsilon {epsilon:g}, {method}, seed {seed}"


def cell(
    table: str, size: str, epsilon: float, method: str, seed: int, *, most_megabytes: float = PAPERS_MEGABYTES
) -> dict[str, Any]:
    """Run one method on one table, and score it.

    The seed gives the split, the noise and the decoding, so a cell of every method has the same rows.
    """
    rows = split(table, size, seed)
    cardinalities = rows.domain.cardinalities
    task = Task(
        codes=rows.train_codes, cardinalities=cardinalities, target=rows.target,
        ordered=rows.domain.ordered,
        alone=codes_alone(rows.domain),
        epsilon=epsilon, delta=DELTA, seed=seed, most_megabytes=most_megabytes,
    )  # fmt: skip
    made = make(method, task)
    scores = distances(made.codes, task.codes, cardinalities, rows.target)
    scores |= train_and_test(rows, made.codes, seed)
    return {
        "table": table, "size": size, "rows": len(task.codes), "columns": len(cardinalities),
        "codes": sum(cardinalities), "method": method, "epsilon": epsilon, "delta": DELTA, "seed": seed,
        **rounded(scores),
        "cpu_seconds": round(made.cpu_seconds, 1), "wall_seconds": round(made.wall_seconds, 1),
        "facts": rounded(made.facts), "load_average": load_average(),
        "machine": machine_facts(packages=("numpy", "scikit-learn", "torch")), "commit": _commit(),
    }  # fmt: skip


def _commit() -> str:
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def known() -> dict[str, Any]:
    """The cells that the results have."""
    path = RESULTS / f"{NAME}.json"
    found: dict[str, Any] = json.loads(path.read_text())[KIND] if path.exists() else {}
    return found


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--size", nargs="+", choices=(*SIZES, THOUSAND), default=list(SIZES))
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--method", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--seed", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--megabytes", type=float, default=PAPERS_MEGABYTES, help="largest model of AIM")
    parser.add_argument("--save", action="store_true", help="write the cell into the results")
    parser.add_argument("--all", action="store_true", help="save, and leave out what the results have")
    chosen = parser.parse_args()
    grid = itertools.product(chosen.table, chosen.size, chosen.epsilon, chosen.method, chosen.seed)
    for table, size, epsilon, method, seed in grid:
        key = key_of(table, size, epsilon, method, seed)
        if chosen.all and (key in known() or not _large_enough(table, size)):
            continue
        found = cell(table, size, epsilon, method, seed, most_megabytes=chosen.megabytes)
        if chosen.save or chosen.all:
            merge(NAME, kind=KIND, key=key, entry=found)
        print(json.dumps({key: found}), flush=True)


def _large_enough(table: str, size: str) -> bool:
    return size == "full" or int(size) <= SOURCES[table].training_rows


if __name__ == "__main__":
    main()
