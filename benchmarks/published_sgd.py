"""DP-SGD with noisy principal components at the settings that Li and He (2020) print, on MNIST.

    python -m benchmarks.published_sgd settings|sweeps|plain [--only NAME ...] [--rate 1]

* `settings`: their three noise levels (figure 2), scored on the test images and on as many training images. `--rate` replaces their learning rate.
* `sweeps`: one option varied at a time at epsilon 2 (figure 3), 1,000 steps, scored on 10,000 held-out training images.
* `plain`: the same network by gradient descent without privacy, on exact components; NOT PRIVATE.

The network has 60 components and 1,000 rectified units. They descend without momentum, from rate .1 to .052 in 10 epochs, and then stays.
The product has momentum .9 and one linear fall, so a tenth of the rate falls to .52 of itself over the whole training.
"""

import argparse
import bisect
import copy
import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from benchmarks.machine import load_average
from benchmarks.private_models import DELTA, logits_of, planned, records_of, scores
from benchmarks.results_file import merge, rounded
from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.declared import Domain
from models.classifier.features import FeatureSource, PrivateRecords, features_of
from models.classifier.networks import DenseClassifier, shortened
from models.classifier.private_training import MOMENTUM, train_classifier
from models.encoding import PrivateImages
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

NAME: Final = "published_sgd"
COMPONENTS, HIDDEN, LOT, RATE, FINAL_RATE, NORM = 60, 1000, 600, 0.1, 0.052, 4.0
SETTINGS: Final = {
    "large": (8.0, 16.0, 0.5, 10_320),
    "middle": (4.0, 7.0, 2.0, 35_680),
    "small": (2.0, 4.0, 8.0, 95_040),
}
"""Noise multipliers of steps and components, epsilon, and the steps that epsilon allows, of their levels of noise."""
SWEPT_EPSILON, SWEPT_STEPS = 2.0, 1_000
SWEEPS: Final[dict[str, tuple[float, ...]]] = {
    "learning_rate": (0.01, 0.03, 0.07, 0.1, 0.3, 1.0),
    "clipping_norm": (0.1, 0.5, 2.0, 4.0, 8.0),
    "hidden": (60, 250, 1000, 2000),
    "expected_batch_size": (60, 224, 600, 1200, 2400),
    "components": (15, 30, 60, 120, 240),
    "noise_multiplier": (0.75, 1.0, 1.5, 2.0),
}
"""Values by what varies; 224 is the root of the 50,000 records. Under more noise epsilon 2 allows more steps."""
MOST_STEPS: Final = 50_000
PLAIN_EPOCHS, PLAIN_POINTS = 950, (1, 10, 50, 100, 357, 950)
SCORED: Final = 10_000


def settings_of(
    noise_of_components: float, epsilon: float, steps: int, *, rate: float = RATE
) -> dict[str, Any]:
    """Options of one of their levels of noise; the noise of the steps follows from epsilon.

    Args:
        noise_of_components: the noise multiplier of the second moments.
        rate: the first learning rate, without momentum.
    """
    whole = gaussian_noise_multiplier(PrivacyGuarantee(epsilon=epsilon, delta=DELTA))
    return {
        "network": "mlp", "features": "pca", "components": COMPONENTS, "hidden": HIDDEN, "steps": steps,
        "expected_batch_size": LOT, "clipping_norm": NORM, "optimizer": "momentum",
        "learning_rate": rate * (1 - MOMENTUM), "final_share": FINAL_RATE / RATE,
        "pca_share": (whole / noise_of_components) ** 2,
    }  # fmt: skip


def steps_allowed(domain: Domain, size: int, noise: float) -> int:
    """The steps that epsilon 2 allows at a noise multiplier."""

    def needed(steps: int) -> float:
        options = settings_of(SETTINGS["middle"][1], SWEPT_EPSILON, steps)
        return planned(domain, size, options, SWEPT_EPSILON).noise_multiplier

    return bisect.bisect_right(range(1, MOST_STEPS), noise, key=needed)


def swept(domain: Domain, size: int) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """The option that varies, its value, and all options, of every point of the sweeps."""
    for name, values in SWEEPS.items():
        for value in values:
            options = settings_of(SETTINGS["middle"][1], SWEPT_EPSILON, SWEPT_STEPS)
            if name == "learning_rate":
                options[name] = value * (1 - MOMENTUM)
            elif name == "noise_multiplier":
                options["steps"] = steps_allowed(domain, size, value)
            else:
                options[name] = value if name == "clipping_norm" else int(value)
            yield name, value, options


def private_run(
    domain: Domain,
    train: PrivateRecords,
    test: PrivateRecords,
    options: dict[str, Any],
    *,
    epsilon: float,
    seed: int = 0,
) -> dict[str, Any]:
    """Train privately; what it scores on `test`, and on as many of the records that it was trained on."""
    load_before, begun = load_average(), time.process_time()
    plan = planned(domain, train.units, options, epsilon)
    key = hashlib.sha256(f"understudy benchmark, not private, published sgd {seed}".encode()).digest()
    features = features_of(train, plan)
    network = train_classifier(train, plan, KeyedStreams(key), NullHost(), features=features).network
    return {
        "options": options, "epsilon": epsilon, "delta": DELTA, "seed": seed, "load": load_before,
        "steps": plan.steps, "noise_multiplier": plan.noise_multiplier,
        "noise_multiplier_of_components": plan.pca_noise_multiplier,
        **both_scores(network, train, features, test, features_of(test, plan)),
        **rounded({"processor_seconds": time.process_time() - begun}),
    }  # fmt: skip


def both_scores(
    network: nn.Module,
    train: PrivateRecords,
    features: FeatureSource,
    test: PrivateRecords,
    test_features: FeatureSource,
) -> dict[str, float]:
    """Accuracy on the test records and on the first training records."""
    assert isinstance(train, PrivateImages), "MNIST"
    first = PrivateImages(
        pixels=train.pixels[:SCORED],
        labels=train.labels[:SCORED],
        unit_of_record=np.arange(SCORED),
        classes=train.classes,
    )
    on_train = scores(logits_of(network, features, SCORED), first)
    on_test = scores(logits_of(network, test_features, test.units), test)
    return rounded({"accuracy": on_test["accuracy"], "accuracy_on_train": on_train["accuracy"]})


def plain_run(domain: Domain, train: PrivateRecords, test: PrivateRecords) -> dict[str, Any]:
    """Gradient descent without noise, clipping or momentum, scored after some of the epochs."""
    assert isinstance(train, PrivateImages), "MNIST"
    begun = time.process_time()
    plan = planned(domain, train.units, settings_of(SETTINGS["middle"][1], SWEPT_EPSILON, 1), SWEPT_EPSILON)
    features, test_features = features_of(train, plan), features_of(test, plan)
    rows = shortened(features.rows(np.arange(train.units)))
    components = torch.linalg.eigh(rows.T @ rows).eigenvectors[:, -COMPONENTS:]
    torch.manual_seed(0)
    network = DenseClassifier((COMPONENTS, HIDDEN, train.classes), components=components)
    for layer in network.linear_layers():
        layer.reset_parameters()
    inputs, labels = rows @ components, torch.from_numpy(train.labels.astype(np.int64))
    points = {}
    for epoch in range(1, PLAIN_EPOCHS + 1):
        rate = max(FINAL_RATE, RATE - (RATE - FINAL_RATE) * (epoch - 1) / 10)
        descent = torch.optim.SGD(network.parameters(), lr=rate)
        for lot in torch.split(torch.randperm(train.units), LOT):
            values = inputs[lot]
            *hidden, last = network.linear_layers()
            for layer in hidden:
                values = torch.relu(layer(values))
            descent.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(last(values), labels[lot]))
            descent.step()
        if epoch in PLAIN_POINTS:
            points[str(epoch)] = both_scores(
                copy.deepcopy(network).float(), train, features, test, test_features
            )
            print(epoch, points[str(epoch)], flush=True)
    return {"points": points, **rounded({"processor_seconds": time.process_time() - begun})}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("settings", "sweeps", "plain"))
    parser.add_argument("--only", nargs="+", help="levels of noise, or what varies")
    parser.add_argument("--rate", type=float, default=RATE, help="the first learning rate of the settings")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    domain, train, test = records_of("mnist", development=chosen.part == "sweeps")
    if chosen.part == "plain":
        _keep("plain", "seed 0", plain_run(domain, train, test))
    if chosen.part == "settings":
        for name in chosen.only or SETTINGS:
            noise, components, epsilon, steps = SETTINGS[name]
            options = settings_of(components, epsilon, steps, rate=chosen.rate)
            made = private_run(domain, train, test, options, epsilon=epsilon)
            key = name if chosen.rate == RATE else f"{name}, rate {chosen.rate:g}"
            _keep("settings", key, {"published_noise": noise, **made})
    if chosen.part == "sweeps":
        known: dict[str, dict[str, Any]] = {}
        for name, value, options in swept(domain, train.units):
            if name in (chosen.only or SWEEPS):
                same = json.dumps(options, sort_keys=True)
                if same not in known:
                    known[same] = private_run(domain, train, test, options, epsilon=SWEPT_EPSILON)
                _keep("sweeps", f"{name} {value:g}", {"varied": name, "value": value, **known[same]})


def _keep(kind: str, key: str, entry: dict[str, Any]) -> None:
    print(key, json.dumps(entry), flush=True)
    merge(NAME, kind=kind, key=key, entry=entry)


if __name__ == "__main__":
    main()
