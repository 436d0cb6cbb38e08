"""The command line that the utility benchmarks share: which runs to make, one entry in the results for each."""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.datasets import Table, load
from benchmarks.publishing import SAMPLED_ROWS, VARIANTS, Published, publish
from benchmarks.results_file import merge, rounded

DELTA = 1e-6
Score = Callable[[Table, Published], dict[str, Any]]


def run(
    table: Table, score: Score, *, epsilon: float, variant: str, seed: int, options: dict[str, Any]
) -> dict[str, Any]:
    """One run: publish, sample, score."""
    begun = time.perf_counter()
    made = publish(table, epsilon=epsilon, delta=DELTA, variant=variant, seed=seed, options=options)
    published = time.perf_counter()
    facts = {"epsilon": epsilon, "delta": DELTA, "variant": variant, "seed": seed}
    # Named facts are exact; only what was measured is rounded.
    return facts | rounded(
        {
            **score(table, made),
            "seconds": round(published - begun, 1),
            "spent_epsilon_pld": made.plan.epsilons.pld,
            "spent_epsilon_rdp": made.plan.epsilons.rdp,
            "parameters": made.parameters,
            "sampled_rows": SAMPLED_ROWS,
            "options": made.plan.options.model_dump(mode="json"),
            "threads": torch.get_num_threads(),
            "not_private": "key derived from the seed",
        }
    )


def arguments(description: str, *, epsilons: Sequence[float], seeds: int) -> argparse.ArgumentParser:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, nargs="+", default=list(epsilons))
    parser.add_argument("--seeds", type=int, default=seeds, help="runs, each with its own seed")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--variant", choices=VARIANTS, default="both")
    parser.add_argument("--baselines", action="store_true", help="only real data and the trivial baselines")
    parser.add_argument(
        "--development", action="store_true", help="split the training file; nothing is written"
    )
    parser.add_argument("--set", default="{}", help="more options of the synthesizer, as JSON")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--json", action="store_true", help="print JSON lines only")
    return parser


def make_runs(
    name: str,
    chosen: argparse.Namespace,
    *,
    score: Score,
    baselines: Callable[[Table], dict[str, dict[str, Any]]],
) -> None:
    """Do what the command line asks for, writing each result as soon as it is there.

    Args:
        name: of the table.
        chosen: parsed `arguments`.
        score: the measured figures of one run.
        baselines: the figures that stand beside it.
    """
    torch.set_num_threads(chosen.threads)
    table = load(name, development=chosen.development)
    if chosen.baselines:
        for key, entry in baselines(table).items():
            print(json.dumps({key: entry}))
            if not chosen.development:
                merge(name, kind="baselines", key=key, entry=entry)
        return
    for epsilon in chosen.epsilon:
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            options = json.loads(chosen.set)
            entry = run(table, score, epsilon=epsilon, variant=chosen.variant, seed=seed, options=options)
            if not chosen.development:
                merge(name, kind="runs", key=f"{chosen.variant} epsilon {epsilon:g} seed {seed}", entry=entry)
            shown = entry if chosen.json else {k: v for k, v in entry.items() if k != "options"}
            print(json.dumps(shown), flush=True)
