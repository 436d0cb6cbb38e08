"""How much of a parity of five columns synthetic rows keep, which no table of fewer than six columns shows.

    python -m benchmarks.idpgan.parity [--only NAME ...] [--seed 0]

50,000 made rows of five fair bits and their parity, which is the target; epsilon 10. The score is the share of synthetic rows whose last
column is the parity of the first five; of the private model, the share of fresh rows that it answers rightly. Chance is a half.
"""

import argparse
import hashlib
import json
import time
from typing import Any, Final

import numpy as np
import torch

from benchmarks.datasets import Codes, Table
from benchmarks.private_models import logits_of, planned, scores
from benchmarks.publishing import rows_of, sample, trained
from benchmarks.results_file import merge, rounded
from core.plan.domain.table import TableDomain
from models.classifier.features import features_of
from models.classifier.private_training import train_classifier
from models.encoding import PrivateTable
from models.generator_check import check_generator
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

NAME: Final = "parity"
ROWS, BITS, EPSILON, DELTA = 50_000, 5, 10.0, 1e-5
FASTER: Final = {"critic_learning_rate": 0.01, "steps": 4000, "expected_batch_size": 500}
"""Ten times the rule's rate, and a third of its batch."""
GENERATORS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "anchor only": ("anchor", {}),
    "critic only": ("critic", {}),
    "critic only, quick": ("critic", {"effort": "quick"}),
    "critic only, network, other rate and batch": ("critic", FASTER),
    "critic only, mixture": ("critic", {"generator": "mixture", **FASTER}),
}
"""Variant and further options."""
MODELS: Final[dict[str, dict[str, Any]]] = {"private model, mlp": {"network": "mlp"}}
DOMAIN: Final = TableDomain.from_json(
    {
        "schema": "understudy.domain/1",
        "target": "parity",
        "privacy_unit": None,
        "columns": [
            {"name": name, "kind": "categorical", "categories": ["0", "1"]}
            for name in (*(f"bit{place}" for place in range(BITS)), "parity")
        ],
    }
)


def made_codes(seed: int) -> Codes:
    """Rows of fair bits and their parity."""
    bits = np.random.default_rng(seed).integers(0, 2, (ROWS, BITS))
    return np.column_stack([bits, bits.sum(axis=1) % 2]).astype(np.int16)


def parity_kept(codes: Codes) -> float:
    """The share of rows whose last column is the parity of the others."""
    return float((codes[:, :BITS].sum(axis=1) % 2 == codes[:, BITS]).mean())


def generated(variant: str, options: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    """Train a generator and look at its rows."""
    rows = rows_of(DOMAIN, made_codes(0), 0)
    table = Table(domain=DOMAIN, train=rows, test=rows)
    _, plan, generator, _ = trained(
        table, epsilon=EPSILON, delta=DELTA, variant=variant, seed=seed, options=options
    )
    codes = sample(generator, ROWS, seed)
    return {
        "score": parity_kept(codes),
        "distinct_rows": len(np.unique(codes, axis=0)),
        "degenerate": check_generator(generator, DOMAIN).degenerate,
        "steps": plan.steps,
    }


def answered(options: dict[str, Any]) -> dict[str, Any]:
    """Train a private model and ask it about fresh rows."""
    plan = planned(DOMAIN, ROWS, options, EPSILON)
    train, test = (
        PrivateTable(
            codes=made_codes(seed),
            unit_of_record=np.arange(ROWS),
            cardinalities=DOMAIN.cardinalities,
            target_index=BITS,
        )
        for seed in (0, 1)
    )
    key = hashlib.sha256(b"understudy benchmark, not private, parity").digest()
    network = train_classifier(train, plan, KeyedStreams(key), NullHost()).network
    logits = logits_of(network, features_of(test, plan), ROWS)
    return {"score": scores(logits, test)["accuracy"], "steps": plan.steps}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=(*GENERATORS, *MODELS))
    parser.add_argument("--seed", type=int, default=0, help="of the generators' trainings")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for name in chosen.only or (*GENERATORS, *MODELS):
        begun = time.process_time()
        made = answered(MODELS[name]) if name in MODELS else generated(*GENERATORS[name], chosen.seed)
        facts = {
            "epsilon": EPSILON,
            "delta": DELTA,
            "seed": chosen.seed,
            "processor_seconds": time.process_time() - begun,
        }
        entry = rounded(made | facts)
        print(name, json.dumps(entry), flush=True)
        merge(NAME, kind="runs", key=f"{name}, seed {chosen.seed}" if chosen.seed else name, entry=entry)


if __name__ == "__main__":
    main()
