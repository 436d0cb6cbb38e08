"""Counts of columns that repeat each other's values, if a repeated value has a code of its own.

    python -m benchmarks.tables.repeated_values poker|taxi|diabetes [--arm plain coded ...] [--epsilon 1 10] [--seeds 1] [--first-seed 0]

Columns of one list of values, as the five ranks of a hand or three diagnoses, are a group. *Coded*, a value that an earlier column of the group has
is replaced by the place of the first such column. That is a public rule of one row, and it loses nothing: who has the codes has the
row. A count of one such column with the target then shows how often values are equal, and needs neither three columns nor the values themselves. A drawn
row whose value is coded as new, and is not, takes another one by the drawn distribution of the column. *Plain* is the same order without it.

A trial outside the product, with its own engine: no domain can declare it. Keys derive from seeds, so nothing here is private.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.datasets import Codes, load
from benchmarks.publishing import SAMPLED_ROWS, rows_of
from benchmarks.results_file import merge, rounded
from benchmarks.runs import DELTA
from benchmarks.scoring import tree_accuracy
from benchmarks.tables.ours import synthesize
from benchmarks.tables.scores import distances, train_and_test
from benchmarks.tables.sources import Split, split
from benchmarks.tables.task import Task
from core.plan.domain.columns.kinds import LabelColumn
from core.plan.domain.table import TableDomain
from models.encoding import codes_alone

NAME: Final = "repeated_values"
Groups = tuple[tuple[str, ...], ...]
RANKS: Final = ("C1", "C2", "C3", "C4", "C5")
SUITS: Final = ("S1", "S2", "S3", "S4", "S5")
ARMS: Final[dict[str, dict[str, Groups]]] = {
    "poker": {"plain": (), "coded": (RANKS,), "coded, suits too": (RANKS, SUITS)},
    "taxi": {"plain": (), "coded": (("pickup_borough", "dropoff_borough"),)},
    "diabetes": {"plain": (), "coded": (("diag_1", "diag_2", "diag_3"),)},
}
"""Groups of columns by table and arm."""
SIZES: Final = {"taxi": "full", "diabetes": "10000"}
RANK_PLACES: Final = (1, 3, 5, 7, 9)
"""Columns of the ranks of the five cards."""


def equal_ranks(codes: Codes, label: int) -> float:
    """Share of equal ranks at two places of a hand, over all pairs of places and all hands of a class."""
    hands = codes[codes[:, -1] == label]
    return float(np.mean([hands[:, i] == hands[:, j] for i, j in itertools.combinations(RANK_PLACES, 2)]))


def places_of(domain: TableDomain, groups: Groups) -> tuple[tuple[int, ...], ...]:
    """Positions of the columns of the groups; each group has one list of values."""
    by_name = {column.name: place for place, column in enumerate(domain.modelled)}
    for group in groups:
        columns = [domain.modelled[by_name[name]] for name in group]
        assert all(isinstance(column, LabelColumn) for column in columns), "values of a list"
        assert len({getattr(column, "labels", ()) for column in columns}) == 1, "one list of values"
    return tuple(tuple(by_name[name] for name in group) for group in groups)


def coded(codes: Codes, cardinalities: Sequence[int], groups: Sequence[Sequence[int]]) -> Codes:
    """Rows whose repeated values have codes of their own, after those of the column.

    Args:
        codes: (rows, columns).
        cardinalities: of every column.
        groups: positions of the columns of each group, in their order.
    """
    found = codes.copy()
    for group in groups:
        for place, column in _later(group):
            for earlier in reversed(range(place)):
                repeated = codes[:, column] == codes[:, group[earlier]]
                found[repeated, column] = cardinalities[column] + earlier
    return found


def widened(cardinalities: Sequence[int], groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Codes of every column of `coded` rows."""
    found = list(cardinalities)
    for group in groups:
        for place, column in _later(group):
            found[column] += place
    return tuple(found)


def uncoded(
    codes: Codes, cardinalities: Sequence[int], groups: Sequence[Sequence[int]], rng: np.random.Generator
) -> tuple[Codes, float]:
    """Rows of `coded` ones, and how many values a row were drawn again because an earlier column has them.

    Args:
        codes: (rows, columns), drawn.
        cardinalities: of every column before it was coded.
        groups: as `coded` has them.
        rng: of the values that are drawn again.
    """
    found, again, rows = codes.copy(), 0, np.arange(len(codes))
    for group in groups:
        taken = np.zeros((len(codes), cardinalities[group[0]]), dtype=np.bool_)
        taken[rows, found[:, group[0]]] = True
        for place, column in _later(group):
            values = cardinalities[column]
            for earlier in range(place):
                repeats = codes[:, column] == values + earlier
                found[repeats, column] = found[repeats, group[earlier]]
            fresh = codes[:, column] < values
            distribution = np.bincount(codes[fresh, column], minlength=values)[:values] + 1e-9
            # Where no value is left, the drawn one stays and repeats another.
            wrong = np.flatnonzero(fresh & taken[rows, found[:, column]] & ~taken.all(axis=1))
            found[wrong, column] = _drawn_from(np.where(taken[wrong], 0.0, distribution), rng)
            again += len(wrong)
            taken[rows, found[:, column]] = True
    return found, again / len(codes)


def _drawn_from(shares: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """One code of each row of shares, which need not add up to one."""
    ends = shares.cumsum(axis=1)
    drawn: npt.NDArray[np.int64] = (ends <= rng.random((len(shares), 1)) * ends[:, -1:]).sum(axis=1)
    return drawn


def _later(group: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((place, column) for place, column in enumerate(group) if place)


def cell(table: str, arm: str, epsilon: float, seed: int) -> dict[str, Any]:
    """Draw rows and score them."""
    rows = _split(table)
    cardinalities, groups = rows.domain.cardinalities, places_of(rows.domain, ARMS[table][arm])
    task = Task(
        codes=coded(rows.train_codes, cardinalities, groups), cardinalities=widened(cardinalities, groups),
        target=rows.target, ordered=rows.domain.ordered, alone=codes_alone(rows.domain), epsilon=epsilon,
        delta=DELTA, seed=seed,
    )  # fmt: skip
    begun = time.process_time()
    drawn, _ = synthesize(task, drawn=SAMPLED_ROWS if table == "poker" else None)
    seconds = time.process_time() - begun
    made, again = uncoded(drawn, cardinalities, groups, np.random.default_rng(seed))
    scores = distances(made, rows.train_codes, cardinalities, rows.target)
    if table == "poker":
        scores |= {
            "equal_ranks_nothing": equal_ranks(made, 0),
            "equal_ranks_one_pair": equal_ranks(made, 1),
            "accuracy_trees": tree_accuracy(rows.domain, rows_of(rows.domain, made, seed), rows.test),
        }
    else:
        scores |= train_and_test(rows, made, seed)
    facts = {"table": table, "arm": arm, "epsilon": epsilon, "delta": DELTA, "seed": seed, "rows": len(task.codes)}  # fmt: skip
    return facts | rounded({**scores, "drawn_again": again, "processor_seconds": seconds})


def _split(table: str) -> Split:
    """All training hands and 100,000 further ones; of other tables four fifths, or the beginning of them, and a fifth."""
    if table != "poker":
        return split(table, SIZES[table], 0)
    hands = load(table)
    return Split(domain=hands.domain, train=hands.train, test=hands.test)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=ARMS)
    parser.add_argument("--arm", nargs="+")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for epsilon in chosen.epsilon:
        for arm in chosen.arm or ARMS[chosen.name]:
            for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
                entry = cell(chosen.name, arm, epsilon, seed)
                merge(NAME, kind="runs", key=f"{chosen.name}, {arm}, epsilon {epsilon:g}, seed {seed}", entry=entry)  # fmt: skip
                print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
