"""The ablation table under valid accounting: six rows of the paper, one plain row against them, equal keys per seed.

    python -m benchmarks.idpgan.ablation [adult mnist poker faces] [--seeds 3] [--rows dpgan plain] [--development]

A run that is in the results already, with the same options and seed, is not made again, so an interrupted benchmark goes
on where it was. With `--development` a held-out part of the training file scores and nothing is written. Keys derive
from seeds, so what is made is NOT PRIVATE.
"""

import argparse
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import datasets
from benchmarks.idpgan.ablation_rows import BUDGETS, ROWS, Budget
from benchmarks.idpgan.ablation_runs import run
from benchmarks.images import datasets as image_datasets
from benchmarks.machine import load_average
from benchmarks.results_file import RESULTS, merge, rounded

FILE = "ablation"


def key_of(budget: Budget, row: str, seed: int) -> str:
    """The name of a run in the results."""
    return f"{budget.name} {row} seed {seed}"


def kept(folder: Path) -> dict[str, Any]:
    """The runs that there are, by name."""
    path = folder / f"{FILE}.json"
    runs: dict[str, Any] = json.loads(path.read_text()).get("runs", {}) if path.exists() else {}
    return runs


def missing(
    budget: Budget, rows: Sequence[str], seeds: Sequence[int], runs: Mapping[str, Any]
) -> list[tuple[str, int]]:
    """The (row, seed) that still have to be run: not there, or there at another budget. Whole seeds first."""

    def there(row: str, seed: int) -> bool:
        entry = runs.get(key_of(budget, row, seed), {})
        return bool(
            entry.get("options") == budget.options_of(row)
            and entry.get("made") == budget.made
            and entry.get("delta") == budget.delta
        )

    return [(row, seed) for seed in seeds for row in rows if not there(row, seed)]


def load(budget: Budget, *, development: bool) -> datasets.Table | image_datasets.ImageSet:
    """The real records of a budget."""
    module = image_datasets if budget.is_images else datasets
    loaded: datasets.Table | image_datasets.ImageSet = module.load(budget.dataset, development=development)
    return loaded


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = list(dict.fromkeys(budget.dataset for budget in BUDGETS))
    parser.add_argument("datasets", nargs="*", choices=[*names, []], default=names)
    parser.add_argument("--epsilon", type=float, nargs="+", help="only the parts of the table at these")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--anchor", action="store_true", help="the same rows beside the moment anchor")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--development", action="store_true", help="nothing is written")
    parser.add_argument("--set", default="{}", help="more options for development, as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    more = json.loads(chosen.set)
    if more and not chosen.development:
        parser.error("other options than the stated budget are for development")
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    for stated in BUDGETS:
        if stated.dataset not in chosen.datasets or stated.epsilon not in (
            chosen.epsilon or [stated.epsilon]
        ):
            continue
        budget = dataclasses.replace(stated, anchor=chosen.anchor, options={**stated.options, **more})
        data = load(budget, development=chosen.development)
        done = {} if chosen.development else kept(RESULTS)
        for row, seed in missing(budget, chosen.rows, seeds, done):
            facts = {"load": load_average(), "threads": chosen.threads}
            entry = rounded(run(data, budget, row, seed=seed) | facts)
            if not chosen.development:
                merge(FILE, kind="runs", key=key_of(budget, row, seed), entry=entry)
            print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
