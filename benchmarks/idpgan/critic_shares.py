"""What a critic adds to measured counts at other shares of the budget than the rule's, and at the options that teach it a parity.

    python -m benchmarks.idpgan.critic_shares poker|parity [--only NAME ...] [--seed 0]

* `poker`: hands, epsilon 10. How often two ranks are equal in "nothing" and in "one pair", which decides between them, and the accuracy of trees on
  real hands. A share above a half for the critic leaves too little for counts by class, so the critic has to see what equal ranks are.
* `parity`: 50,000 made rows of five fair bits, four columns of eight codes and the parity of the bits, epsilon 10: too wide a table to be counted
  whole. The score is the share of drawn rows whose last column is the parity.

Keys derive from seeds, so nothing here is private.
"""

import argparse
import json
import time
from typing import Any, Final

import numpy as np
import torch

from benchmarks.datasets import Codes, Table, load
from benchmarks.idpgan.by_class import equal_ranks
from benchmarks.idpgan.parity import BITS, FASTER, ROWS, made_codes
from benchmarks.publishing import SAMPLED_ROWS, rows_of, sample, trained
from benchmarks.results_file import merge, rounded
from benchmarks.runs import DELTA
from benchmarks.scoring import distances, tree_accuracy
from core.plan.domain.table import TableDomain

NAME: Final = "critic_shares"
EPSILON: Final = 10.0
FURTHER, CODES = 4, 8
MIXTURE: Final = {"generator": "mixture", **FASTER}
ARMS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "counts alone": ("anchor", {}),
    "critic 10 %, by the rule": ("both", {}),
    "critic 50 %": ("both", {"anchor_share": 0.5}),
    "critic 50 %, mixture": ("both", {"anchor_share": 0.5, **MIXTURE}),
    "critic 90 %, mixture": ("both", {"anchor_share": 0.1, **MIXTURE}),
    "critic alone, other rate and batch": ("critic", FASTER),
    "critic alone, mixture": ("critic", MIXTURE),
}
"""What runs: variant, and options beside it."""


def wide_parity() -> Table:
    """Five bits, columns that say nothing, and the parity of the bits."""
    bits = made_codes(0)
    noise = np.random.default_rng(1).integers(0, CODES, (ROWS, FURTHER))
    codes = np.column_stack([bits[:, :BITS], noise, bits[:, BITS]]).astype(np.int16)
    words = [str(code) for code in range(CODES)]
    names = [*(f"bit{place}" for place in range(BITS)), *(f"more{place}" for place in range(FURTHER)), "parity"]  # fmt: skip
    kinds = [words[:2]] * BITS + [words] * FURTHER + [words[:2]]
    columns = [{"name": name, "kind": "categorical", "categories": kind} for name, kind in zip(names, kinds, strict=True)]  # fmt: skip
    domain = TableDomain.from_json(
        {"schema": "understudy.domain/1", "target": "parity", "privacy_unit": None, "columns": columns}
    )
    rows = rows_of(domain, codes, 0)
    return Table(domain=domain, train=rows, test=rows)


def parity_scores(codes: Codes) -> dict[str, float]:
    """The share of rows whose last column is the parity of the bits."""
    return {"parity": float((codes[:, :BITS].sum(axis=1) % 2 == codes[:, -1]).mean())}


def poker_scores(table: Table, codes: Codes, seed: int) -> dict[str, float]:
    """What decides between the two commonest hands, and what trees learn."""
    return {
        "equal_ranks_nothing": equal_ranks(codes, 0),
        "equal_ranks_one_pair": equal_ranks(codes, 1),
        "accuracy_trees": tree_accuracy(table.domain, rows_of(table.domain, codes, seed), table.test),
    }


def cell(name: str, table: Table, arm: str, seed: int) -> dict[str, Any]:
    """Train, draw and score."""
    variant, options = ARMS[arm]
    begun = time.process_time()
    _, plan, generator, _ = trained(
        table, epsilon=EPSILON, delta=DELTA, variant=variant, seed=seed, options=options
    )
    seconds = time.process_time() - begun
    made = sample(generator, SAMPLED_ROWS, seed)
    scores = parity_scores(made) if name == "parity" else poker_scores(table, made, seed)
    facts = {"epsilon": EPSILON, "delta": DELTA, "seed": seed, "steps": plan.steps, "options": options}
    return facts | rounded(
        {
            **scores,
            **distances(made, table.train_codes, table.domain.cardinalities),
            "processor_seconds": seconds,
        }
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=("poker", "parity"))
    parser.add_argument("--only", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    table = wide_parity() if chosen.name == "parity" else load("poker")
    for arm in chosen.only:
        entry = cell(chosen.name, table, arm, chosen.seed)
        merge(NAME, kind="runs", key=f"{chosen.name}, {arm}, seed {chosen.seed}", entry=entry)
        print(arm, json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
