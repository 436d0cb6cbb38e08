"""Poker Hand by the private networks that the paper compares itself with: DPGAN, GANobfuscator and DPACGAN.

    python -m benchmarks.idpgan.poker_baselines [--methods dpgan ganobfuscator dpacgan] [--epsilon 10 15] [--seeds 1]

They are the product's training in other configurations (`benchmarks.baselines.table_gan`), scored as `benchmarks.idpgan.poker`
scores and kept beside its runs. Keys derive from seeds, so what is made is NOT PRIVATE.
"""

import argparse
import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.baselines.public_threshold import PublicRows
from benchmarks.baselines.table_gan import TableGan
from benchmarks.datasets import Codes, Table, load
from benchmarks.idpgan.poker import NAME, Hands
from benchmarks.machine import load_average
from benchmarks.publishing import SAMPLED_ROWS, rows_of, sample, streams_of
from benchmarks.results_file import merge, rounded
from benchmarks.runs import DELTA
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable
from models.synthesizer import NullHost, TrainedGenerator

PUBLIC_ROWS = 200
"""Training rows, the last ones, that are declared public where a method needs some; the private table is without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableGanMethod:
    """One method.

    Args:
        title: as the tables name it.
        paper_accuracy: that the paper prints at its epsilon 15, which is not a guarantee.
        auxiliary: whether the critic classifies the target too.
        public_rows: how many are taken out of the training rows and declared public.
    """

    title: str
    paper_accuracy: float
    auxiliary: bool = False
    public_rows: int = 0


METHODS: dict[str, TableGanMethod] = {
    "dpgan": TableGanMethod(title="DPGAN", paper_accuracy=0.4843),
    "ganobfuscator": TableGanMethod(
        title=f"GANobfuscator, {PUBLIC_ROWS} rows declared public",
        paper_accuracy=0.5007,
        public_rows=PUBLIC_ROWS,
    ),
    "dpacgan": TableGanMethod(title="DPACGAN", paper_accuracy=0.4930, auxiliary=True),
}
PAPERS_EPSILON = 15.0
"""Epsilon at which the paper prints their accuracies."""
SETTINGS: dict[str, Any] = {"ablation": "dpgan", "steps": 2_000}
"""Settings of all three; the rest is the public rule of a critic without an anchor."""


def split(codes: Codes, public: int) -> tuple[Codes, PublicRows | None]:
    """The rows without the last `public` ones, and these."""
    if public == 0:
        return codes, None
    return codes[:-public], PublicRows(codes=codes[-public:])


def train(
    codes: Codes,
    domain: TableDomain,
    method: TableGanMethod,
    *,
    epsilon: float,
    seed: int,
    options: dict[str, Any],
) -> tuple[TrainedGenerator, Plan]:
    """Train one method.

    Args:
        codes: real rows; what is declared public is taken out here.
        domain: theirs.
        method: one of `METHODS`.
        epsilon: to spend, at the tables' delta.
        seed: of everything.
        options: of the plan, beside `SETTINGS` and in their place.
    """  # fmt: skip
    private, public = split(codes, method.public_rows)
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=SETTINGS | options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=len(private),
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    table = PrivateTable(
        codes=private,
        unit_of_record=np.arange(len(private), dtype=np.int64),
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
    )
    training = TableGan(
        table, plan, streams_of(seed), NullHost(), auxiliary=method.auxiliary, public=public
    )  # fmt: skip
    return training.run(), plan


def run(table: Table, hands: Hands, name: str, *, epsilon: float, seed: int) -> dict[str, Any]:
    """Train, draw and score once; the entry of results."""
    method, load_before = METHODS[name], load_average()
    begun, busy = time.perf_counter(), time.process_time()
    generator, plan = train(table.train_codes, table.domain, method, epsilon=epsilon, seed=seed, options={})
    made = sample(generator, SAMPLED_ROWS, seed)
    spent = {"seconds": time.perf_counter() - begun, "processor_seconds": time.process_time() - busy}
    scores = hands.of_codes(table, made, rows_of(table.domain, made, seed))
    facts = {
        "epsilon": epsilon, "delta": DELTA, "variant": method.title, "seed": seed, "public_rows": method.public_rows,
        "paper_accuracy": method.paper_accuracy if epsilon == PAPERS_EPSILON else None,
        "steps": plan.steps, "threads": torch.get_num_threads(), "load": load_before,
    }  # fmt: skip
    return facts | rounded(
        {
            **scores,
            **{clock: round(value, 1) for clock, value in spent.items()},
            "noise_multiplier": plan.noise_multiplier_at(0),
            "spent_epsilon_pld": plan.epsilons.pld,
            "sampled_rows": SAMPLED_ROWS,
            "options": plan.options.model_dump(mode="json"),
            "not_private": "key derived from the seed",
        }
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=list(METHODS))
    parser.add_argument("--epsilon", type=float, nargs="+", default=[10.0, 15.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--development", action="store_true", help="split the training file; nothing is written"
    )
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    table, hands = load(NAME, development=chosen.development), Hands()
    for epsilon in chosen.epsilon:
        for name in chosen.methods:
            for seed in range(chosen.seeds):
                entry = run(table, hands, name, epsilon=epsilon, seed=seed)
                print(json.dumps({key: value for key, value in entry.items() if key != "options"}), flush=True)  # fmt: skip
                if not chosen.development:
                    merge(NAME, kind="runs", key=f"{name} epsilon {epsilon:g} seed {seed}", entry=entry)


if __name__ == "__main__":
    main()
