"""Accuracy of a classifier of Poker hands from counts of pairs by class, whatever the rule would choose.

    python -m benchmarks.idpgan.by_class [--epsilon 5 10] [--arm rule class all] [--seed 0]
    python -m benchmarks.idpgan.by_class --real

A hand is "one pair" or "nothing" by whether two of its five ranks are equal. Alone a pair of ranks says next to nothing of the class, and by
class it says nearly all: no hand of "nothing" has two equal ranks. So the scores follow that fact from the targets to drawn hands to trees.

Arms: `rule` is the default order; `class` counts by class at any noise; `all` does too, and counts all pairs instead of those that the
screening chose. Keys derive from seeds, so nothing here is private.
"""

import argparse
import itertools
import json
from contextlib import nullcontext
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.datasets import Table, load
from benchmarks.publishing import SAMPLED_ROWS, rows_of, sample, streams_of, trained
from benchmarks.results_file import merge, rounded
from benchmarks.runs import DELTA
from benchmarks.scoring import distances, tree_accuracy
from benchmarks.tables.repeated_values import RANK_PLACES, equal_ranks
from core.plan.plan import Plan
from models.encoding import PrivateTable
from models.idpgan.prepared_counts import Anchor, make_anchor
from models.tables.measurement.measure import measure

NAME: Final = "by_class"
CLASSES: Final = {"nothing": 0, "one_pair": 1}
ARMS: Final = ("rule", "class", "all")


def cell(table: Table, epsilon: float, arm: str, seed: int) -> dict[str, Any]:
    """Publish hands and score them."""
    always = nullcontext() if arm == "rule" else patch("core.plan.counting_rules.SIGNAL_PER_CLASS", 0.0)
    options = {"anchor_screening_share": 0.0} if arm == "all" else {}
    with always:
        private, plan, generator, (_, seconds) = trained(
            table, epsilon=epsilon, delta=DELTA, variant="anchor", seed=seed, options=options
        )
        anchor = _anchor(private, plan, seed)
    made = sample(generator, SAMPLED_ROWS, seed)
    facts = {"epsilon": epsilon, "arm": arm, "seed": seed, "counted_by_class": anchor.layout.by_class}
    return facts | rounded(
        {
            "rank_pairs_counted": sum(
                _counted(anchor, pair) for pair in itertools.combinations(RANK_PLACES, 2)
            ),
            **{f"targets_{name}": _of_targets(anchor, label) for name, label in CLASSES.items()},
            **{f"drawn_{name}": equal_ranks(made, label) for name, label in CLASSES.items()},
            "accuracy_trees": tree_accuracy(table.domain, rows_of(table.domain, made, seed), table.test),
            **distances(made, table.train_codes, table.domain.cardinalities),
            "seconds": round(seconds, 1),
        }
    )


def _anchor(private: PrivateTable, plan: Plan, seed: int) -> Anchor:
    """Make the same noisy counts again."""
    counted = measure(private, plan, streams_of(seed)).counted
    assert counted is not None, "the arms have an anchor"
    return make_anchor(counted, private, plan)


def _counted(anchor: Anchor, pair: tuple[int, int]) -> bool:
    return pair in anchor.layout.weights


def _of_targets(anchor: Anchor, label: int) -> float:
    """The same share in the targets; without counts by class that of all hands."""
    blocks = dict(zip(anchor.layout.features, anchor.layout.blocks, strict=True))
    pairs = anchor.targets.pairs[label if anchor.layout.by_class else 0]
    shares = [_equal(pairs[blocks[i], blocks[j]]) for i, j in itertools.combinations(RANK_PLACES, 2)]
    return float(np.mean(shares))


def _equal(square: npt.NDArray[np.float64]) -> float:
    return float(np.trace(square) / square.sum())


def real(table: Table) -> dict[str, Any]:
    """The same scores of the real training hands."""
    codes, domain = table.train_codes, table.domain
    shares = {f"drawn_{name}": equal_ranks(codes, label) for name, label in CLASSES.items()}
    return rounded({**shares, "accuracy_trees": tree_accuracy(domain, table.train, table.test)})


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, nargs="+", default=[5.0, 10.0])
    parser.add_argument("--arm", choices=ARMS, nargs="+", default=list(ARMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", action="store_true", help="only the scores of the real hands")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    table = load("poker")
    if chosen.real:
        merge(NAME, kind="baselines", key="real", entry=real(table))
        return
    for epsilon, arm in itertools.product(chosen.epsilon, chosen.arm):
        entry = cell(table, epsilon, arm, chosen.seed)
        merge(NAME, kind="runs", key=f"{arm} epsilon {epsilon:g} seed {chosen.seed}", entry=entry)
        print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
