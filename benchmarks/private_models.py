"""Private classifiers by the public rules: accuracy on the published test images, AUROC on a test table.

    python -m benchmarks.private_models mnist|fashion_mnist|adult|diabetes|synthea [--epsilon 1 3 10] [--seeds 1] [--development] [--set JSON]

Diabetes (first encounters of patients) and synthea (encounters) are clinical, with every fifth row as the test (`benchmarks.tables.sources`).

`--development` scores on a held-out part of the training records, writes nothing, and is what the rules' constants were chosen
by. Keys derive from seeds, so the result of a benchmark is NOT PRIVATE.
"""

import argparse
import hashlib
import json
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from benchmarks.datasets import load as load_table
from benchmarks.images.datasets import load as load_images
from benchmarks.machine import load_average
from benchmarks.results_file import merge, rounded
from benchmarks.tables.sources import split
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import encode
from core.plan.domain.declared import Domain
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.several_owners.owners import DataOwner
from models.classifier.features import FeatureSource, PrivateRecords, features_of
from models.classifier.private_training import train_classifier
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

NAME = "private_models"
DELTA = 1e-5
IMAGES = ("mnist", "fashion_mnist")
CLINICAL = ("diabetes", "synthea")
"""Tables of the comparison with other methods, whose training rows took part in the choice of the rules."""
_CHUNK = 500


def records_of(name: str, *, development: bool) -> tuple[Domain, PrivateRecords, PrivateRecords]:
    """The declared domain, the private records, and those that score."""
    if name in IMAGES:
        images = load_images(name, development=development)
        count = len(images.test)
        test = PrivateImages(
            pixels=images.test.pixels,
            labels=images.test.labels,
            unit_of_record=np.arange(count),
            classes=images.classes,
        )
        return images.domain, images.private(), test
    table = split(name, "full", 0) if name in CLINICAL else load_table(name)
    codes, test_codes = table.train_codes, encode(table.domain, table.test)
    if development:
        fitted = len(codes) * 4 // 5
        codes, test_codes = codes[:fitted], codes[fitted:]
    train, test_table = (
        PrivateTable(
            codes=some,
            unit_of_record=np.arange(len(some)),
            cardinalities=table.domain.cardinalities,
            target_index=table.domain.target_index,
        )
        for some in (codes, test_codes)
    )
    return table.domain, train, test_table


def planned(
    domain: Domain,
    size: int,
    options: dict[str, Any],
    epsilon: float,
    *,
    owners: tuple[DataOwner, ...] | None = None,
) -> ModelPlan:
    """The plan of a benchmark's order."""
    return make_model_plan(
        model=ModelSpec(options=options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=size,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        owners=owners,
    )


def logits_of(network: torch.nn.Module, features: FeatureSource, count: int) -> npt.NDArray[np.float64]:
    """(count, classes)."""
    with torch.no_grad():
        pieces = [
            network(features.rows(np.arange(first, min(first + _CHUNK, count))).float())
            for first in range(0, count, _CHUNK)
        ]
    made: npt.NDArray[np.float64] = torch.cat(pieces).double().numpy()
    return made


def scores(logits: npt.NDArray[np.float64], records: PrivateRecords) -> dict[str, float]:
    """Accuracy; of tables the area under the ROC curve too, of more than two classes the mean of each against the others."""
    if isinstance(records, PrivateImages):
        return {"accuracy": float((logits.argmax(axis=1) == records.labels).mean())}
    assert records.target_index is not None, "a table with a target"
    labels = records.codes[:, records.target_index].astype(np.int64)
    shares = softmax(logits, axis=1)
    sides = [1] if logits.shape[1] == 2 else np.unique(labels)
    return {
        "accuracy": float((logits.argmax(axis=1) == labels).mean()),
        "auroc": float(np.mean([roc_auc_score(labels == side, shares[:, side]) for side in sides])),
        "commonest": float(np.bincount(labels).max() / len(labels)),
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=(*IMAGES, "adult", *CLINICAL))
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 3.0, 10.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--development", action="store_true", help="nothing is written")
    parser.add_argument("--set", default="{}", help="options, as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    options = json.loads(chosen.set)
    domain, train, test = records_of(chosen.name, development=chosen.development)
    begun = time.perf_counter()
    plan = planned(domain, train.units, options, 1.0)
    features, test_features = features_of(train, plan), features_of(test, plan)
    seconds_of_features = time.perf_counter() - begun
    for epsilon in chosen.epsilon:
        plan = planned(domain, train.units, options, epsilon)
        for seed in range(chosen.seeds):
            key = hashlib.sha256(f"understudy benchmark, not private, model {seed}".encode()).digest()
            load_before, begun = load_average(), time.perf_counter()
            trained = train_classifier(train, plan, KeyedStreams(key), NullHost(), features=features)
            seconds = time.perf_counter() - begun
            made = plan.options
            entry = {
                "dataset": chosen.name, "network": made.network, "features": made.features, "epsilon": epsilon,
                "delta": DELTA, "seed": seed, "threads": chosen.threads, "load": load_before,
                "steps": made.steps, "expected_batch": made.expected_batch_size,
                "noise_multiplier": plan.noise_multiplier,
                **rounded(scores(logits_of(trained.network, test_features, test.units), test)),
                **rounded({"seconds": seconds, "seconds_of_features": seconds_of_features}),
            }  # fmt: skip
            print(json.dumps(entry), flush=True)
            if not chosen.development:
                address = f"{chosen.name} {made.network} {made.features} {epsilon:g} {seed}"
                merge(NAME, kind="runs", key=address, entry=entry)


if __name__ == "__main__":
    main()
