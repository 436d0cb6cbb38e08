"""Images without labels: measured moments alone, and a critic of real and made images beside them.

    python -m benchmarks.images.unlabelled faces --epsilon 1 4 10 [--parts anchor both] [--grids FOLDER]

No classifier can be taught by images without labels, so they are compared by distances and by a discriminator. The scorer behind the
features, public as ever, knows labels. `tinted-faces` are the faces enlarged to 48x48, each coloured by a public draw: no real colour images are at hand.
Keys derive from seeds, so these images are NOT PRIVATE.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from PIL import Image

from benchmarks.images.datasets import ImageSet, Pictures, load
from benchmarks.images.discriminator import RECIPE, separate
from benchmarks.images.drawing import DELTA
from benchmarks.images.grids import write_grid
from benchmarks.images.idpgan import plan_of, training_key
from benchmarks.images.measures import distances
from benchmarks.images.networks import named_seed
from benchmarks.images.scorer import scorer
from benchmarks.images.wasserstein_gan import sample
from benchmarks.results_file import merge, rounded
from core.plan.plan import Plan
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

NAME: Final = "unlabelled_images"
SETS: Final = ("faces", "tinted-faces")
PARTS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "anchor": ("anchor only", {"critic": False}),
    "both": ("anchor and critic", {"critic": True}),
    "critic": ("critic only, standard", {"anchor": False, "effort": "standard"}),
}
"""What runs, as the table names it, and the options that say so."""
COUNT: Final = 20_000
"""Made images that are scored."""
SIDE: Final = 48
TINTS: Final = ((0.6, 1.0), (0.4, 0.9), (0.2, 0.8))
"""Limits of the share of its grey value that an image keeps in red, green and blue."""


def labelled(name: str) -> ImageSet:
    """One of `SETS`, with the labels that the scorer needs."""
    images = load("faces")
    if name == "faces":
        return images
    domain = replace(images.domain, height=SIDE, width=SIDE, channels=3)
    train, test = (tinted(part, seed=seed) for seed, part in enumerate((images.train, images.test)))
    return replace(images, name=name, domain=domain, train=train, test=test)


def tinted(grey: Pictures, *, seed: int) -> Pictures:
    """Grey pictures, enlarged and each coloured by a draw of its own."""
    low, high = np.array(TINTS).T
    kept = np.random.default_rng(seed).uniform(low, high, (len(grey), 3))
    large = [np.asarray(Image.fromarray(one[..., 0]).resize((SIDE, SIDE), Image.Resampling.BICUBIC)) for one in grey.pixels]  # fmt: skip
    coloured = np.stack(large)[..., None] * kept[:, None, None]
    return Pictures(pixels=np.rint(coloured).astype(np.uint8), labels=grey.labels)


def without_labels(images: ImageSet) -> ImageSet:
    """The set as an owner declares it who has no labels."""
    train, test = (
        Pictures(pixels=part.pixels, labels=np.zeros_like(part.labels))
        for part in (images.train, images.test)
    )
    return replace(images, domain=replace(images.domain, labels=()), train=train, test=test)


def made_of(unlabelled: ImageSet, plan: Plan, *, seed: int, count: int = COUNT) -> Pictures:
    """Images of a generator trained under a plan."""
    trained = IdpganSynthesizer().fit(
        unlabelled.private(), plan, KeyedStreams(training_key(seed)), NullHost()
    )
    assert trained.label_probabilities is None, "nothing is said of labels"
    return sample(
        trained.network,
        torch.zeros(count, dtype=torch.int64),
        classes=0,
        latent_dimension=trained.latent_dimension,
        seed=named_seed("latent", seed),
    )


def scored(images: ImageSet, made: Pictures, *, seed: int) -> dict[str, Any]:
    """Distances of made images from the real ones, and how well a discriminator separates them."""
    found = separate(images.train, made, unseen=images.test, seed=seed, recipe=RECIPE)
    return distances(images, made, scorer(images)) | {"separated": found.accuracy, "made": len(made)}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=SETS)
    parser.add_argument("--parts", choices=PARTS, nargs="+", default=["anchor", "both"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 4.0, 10.0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", action="store_true", help="the true training images: the floor")
    parser.add_argument("--grids", type=Path, help="write a picture of the images of every run here")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    images = labelled(chosen.name)
    if chosen.real:
        merge(NAME, kind="real", key=chosen.name, entry=rounded(scored(images, images.train, seed=0)))
        return
    for part in chosen.parts:
        title, options = PARTS[part]
        for epsilon in chosen.epsilon:
            begun = time.process_time()
            plan = plan_of(without_labels(images), epsilon=epsilon, options=options)
            made = made_of(without_labels(images), plan, seed=chosen.seed)
            seconds = time.process_time() - begun
            entry = {
                "dataset": chosen.name, "method": title, "epsilon": epsilon, "delta": DELTA, "seed": chosen.seed,
                "steps": plan.steps, "expected_batch_size": plan.expected_batch_size, "options": options,
                "spent_epsilon": plan.epsilons.reported,
                **rounded({"processor_seconds": seconds, **scored(images, made, seed=chosen.seed)}),
            }  # fmt: skip
            if chosen.grids is not None:
                path = chosen.grids / f"{chosen.name}-unlabelled-{part}-{epsilon:g}-{chosen.seed}.png"
                write_grid(made, path, classes=1, rows=2, columns=20)
            merge(NAME, kind="runs", key=f"{chosen.name} {title} epsilon {epsilon:g} seed {chosen.seed}", entry=entry)  # fmt: skip
            print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
