"""Score a file of made images and keep the entry beside the others.

    python -m benchmarks.images.score mnist samples.npz --method "anchor only" --epsilon 4 --delta 1e-5 --seed 0
    python -m benchmarks.images.score mnist --real

The file is what the service gives out: `images` (n, height, width, channels) uint8 and `labels` int16. With
`--development` the held-out part of the training images scores, and nothing is written; the test is for final scores.
"""

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.images.datasets import NAMES, ImageSet, Pictures, load
from benchmarks.images.measures import HEADLINE, MADE, Effort, measure
from benchmarks.images.networks import named_seed
from benchmarks.images.scorer import scorer
from benchmarks.machine import load_average
from benchmarks.results_file import RESULTS, merge, rounded

FILE = "images"


def read_made(path: Path, *, seed: int) -> Pictures:
    """Made images of a file of the service, at most `MADE`, in an order of this seed."""
    with np.load(path, allow_pickle=False) as arrays:
        made = Pictures(pixels=arrays["images"], labels=arrays["labels"].astype(np.int16))
    order = np.random.default_rng(named_seed("order", seed)).permutation(len(made))
    return made.take(order[:MADE])


def record(
    images: ImageSet,
    made: Pictures,
    *,
    method: str,
    epsilon: float | None,
    delta: float | None,
    seed: int,
    facts: Mapping[str, Any] | None = None,
    effort: Effort | None = None,
    cache: Path | None = None,
    folder: Path = RESULTS,
) -> dict[str, Any]:
    """Measure made images and, but for development, merge the entry into `images.json`.

    Args:
        images: the real ones.
        made: in random order.
        method: as the tables name it.
        epsilon: spent, or None without privacy.
        delta: likewise.
        seed: of the run, which also names the draws of the measurement.
        facts: more to keep, such as seconds of the training.
        effort: how much the measurement trains.
        cache: where the scorer is kept.
        folder: of the results.
    """
    classifier = scorer(images, folder=cache)
    load_before, begun = load_average(), time.perf_counter()
    scores = measure(images, made, classifier, seed=seed, effort=effort)
    entry = {
        "dataset": images.name, "method": method, "epsilon": epsilon, "delta": delta, "seed": seed,
        "development": images.development, "measure_threads": torch.get_num_threads(), "measure_load": load_before,
        **rounded(scores | {"measure_seconds": round(time.perf_counter() - begun, 1)}), **(facts or {}),
    }  # fmt: skip
    if not images.development:
        merge(FILE, kind="runs", key=key_of(entry), entry=entry, folder=folder)
    return entry


def key_of(entry: Mapping[str, Any]) -> str:
    """The name of an entry: data set, method, epsilon, seed."""
    epsilon = "" if entry["epsilon"] is None else f" epsilon {entry['epsilon']:g}"
    return f"{entry['dataset']} {entry['method']}{epsilon} seed {entry['seed']}"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("file", type=Path, nargs="?")
    source.add_argument("--real", action="store_true", help="the true training images: the ceiling")
    parser.add_argument("--method", default="real images")
    parser.add_argument("--epsilon", type=float)
    parser.add_argument("--delta", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--development", action="store_true")
    parser.add_argument(
        "--headline", action="store_true", help="train the paper's network alone on what is made"
    )
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    images = load(chosen.name, development=chosen.development)
    made = images.train if chosen.real else read_made(chosen.file, seed=chosen.seed)
    entry = record(
        images,
        made,
        method=chosen.method,
        epsilon=chosen.epsilon,
        delta=chosen.delta,
        seed=chosen.seed,
        effort=HEADLINE if chosen.headline else None,
    )
    print(json.dumps(entry))


if __name__ == "__main__":
    main()
