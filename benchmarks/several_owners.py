"""A private classifier over four owners' rows, beside one dataset of all rows and beside each owner alone.

    python -m benchmarks.several_owners adult|mnist [--split even|skewed] [--epsilon 1] [--rounds 10] [--threads 1]
    python -m benchmarks.several_owners mnist --epsilon 8 --owners 10 --rounds 20 --set '{"network": "cnn"}'

Split evenly, every owner has a random part, a quarter unless `--owners` says otherwise. Skewed, the owners of Adult have a quarter each by age, and those of MNIST the
images of 2 or 3 digits. With `--rounds` the owners' weights are averaged so often, and nothing else runs. `--only` names some of the trainings. All else is by the public rules, but for `--set`. Keys derive from seeds, so the result of a benchmark is NOT PRIVATE.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
import torch

from benchmarks.machine import load_average
from benchmarks.private_models import DELTA, logits_of, planned, records_of, scores
from benchmarks.results_file import merge, rounded
from core.plan.domain.declared import Domain
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.owners import DataOwner
from models.classifier.averaging import train_averaged
from models.classifier.features import FeatureSource, PrivateRecords, features_of
from models.classifier.private_training import TrainedClassifier, train_classifier
from models.coding import joined
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams
from models.selection.split import part_of
from models.synthesizer import NullHost

NAME = "several_owners"
OWNERS = 4
SKEWED_BY: dict[str, str] = {"adult": "age"}
Options = dict[str, Any]
DIGITS = ((0, 1), (2, 3), (4, 5, 6), (7, 8, 9))


def split(
    name: str, kind: str, domain: Domain, records: PrivateRecords, owners: int = OWNERS
) -> list[PrivateRecords]:
    """The records of each owner."""
    owner = np.random.default_rng(0).permutation(np.arange(records.units) % owners)
    if kind == "skewed" and isinstance(records, PrivateImages):
        owner = np.array(
            [next(k for k, own in enumerate(DIGITS) if label in own) for label in records.labels]
        )
    elif kind == "skewed":
        assert isinstance(records, PrivateTable), "images or a table"
        names = [column.name for column in domain.coded]  # type: ignore[union-attr]  # a table's
        order = np.argsort(records.codes[:, names.index(SKEWED_BY[name])], kind="stable")
        owner = np.empty(records.units, np.int64)
        owner[order] = np.arange(records.units) * OWNERS // records.units
    return [part_of(records, owner == each) for each in range(owners)]


def pooled(records: PrivateRecords, domain: Domain, epsilon: float, options: Options) -> "Run":
    """A training on all records together."""
    return planned(domain, records.units, options, epsilon), partial(train_classifier, records)


def averaged(
    parts: list[PrivateRecords], domain: Domain, epsilon: float, rounds: int, options: Options
) -> "Run":
    """A training of every owner by itself, whose weights are averaged after each round."""
    owners = tuple(
        DataOwner(
            dataset_id=str(UUID(int=place)), population_id=str(UUID(int=place)), declared_size=part.units
        )
        for place, part in enumerate(parts, start=1)
    )
    size = sum(part.units for part in parts)
    plan = planned(domain, size, {**options, "averaging_rounds": rounds}, epsilon, owners=owners)
    return plan, partial(train_averaged, parts)


Run = tuple[ModelPlan, Callable[[ModelPlan, KeyedStreams, NullHost], TrainedClassifier]]


def trained(run: Run, test: PrivateRecords, test_features: FeatureSource) -> dict[str, float]:
    """Scores of one training by the rules."""
    plan, train = run
    key = hashlib.sha256(b"understudy benchmark, not private, owners 0").digest()
    begun = time.perf_counter()
    made = train(plan, KeyedStreams(key), NullHost())
    seconds = time.perf_counter() - begun
    found = scores(logits_of(made.network, test_features, test.units), test)
    return rounded({**found, "noise_multiplier": plan.noise_multiplier, "seconds": seconds}) | {
        "units": plan.declared_size,
        "steps": plan.steps,
        "expected_batch": plan.options.expected_batch_size,
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=("adult", "mnist"))
    parser.add_argument("--split", choices=("even", "skewed"), default="even")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--owners", type=int, default=OWNERS, help="of an even split")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", nargs="+", help="trainings")
    parser.add_argument("--set", default="{}", help="options of the model, as JSON")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.split == "skewed" and chosen.owners != OWNERS:
        parser.error(f"a skewed split has {OWNERS} owners")
    torch.set_num_threads(chosen.threads)
    options = json.loads(chosen.set)
    domain, records, test = records_of(chosen.name, development=False)
    test_features = features_of(test, planned(domain, records.units, options, chosen.epsilon))
    owners = split(chosen.name, chosen.split, domain, records, chosen.owners)
    if chosen.rounds:
        made = averaged(owners, domain, chosen.epsilon, chosen.rounds, options)
        runs = {f"averaged {chosen.rounds} times": made}
    else:
        some: dict[str, PrivateRecords] = {"together": joined(owners), "one dataset": records}
        some |= {f"owner {number} alone": one for number, one in enumerate(owners, start=1)}
        runs = {
            which: pooled(one, domain, chosen.epsilon, options)
            for which, one in some.items()
            if which in (chosen.only or some)
        }
    for which, run in runs.items():
        load = load_average()
        entry = {
            "dataset": chosen.name, "split": chosen.split, "epsilon": chosen.epsilon, "delta": DELTA, "which": which,
            "owners": chosen.owners, "options": options,
            "threads": chosen.threads, "load": load, **trained(run, test, test_features),
        }  # fmt: skip
        print(json.dumps(entry), flush=True)
        address = f"{chosen.name} {chosen.split} {chosen.epsilon:g} {which}"
        if chosen.owners != OWNERS or options:
            address += f" of {chosen.owners} owners {json.dumps(options)}"
        merge(NAME, kind="runs", key=address, entry=entry)


if __name__ == "__main__":
    main()
