"""The moment anchor of images alone, without a critic: train on its images, test on held-out real ones.

    python -m benchmarks.images.anchor_only mnist 1 4 10
    python -m benchmarks.images.anchor_only fashion_mnist 1 10 --images 20000

The generator is untrained, so it draws the anchor's law. Scores are of the last part of the training images, never of
the test file. One key and one seed: a second run gives the same figures on the same machine.
"""

import argparse
import time

import numpy as np
import torch

from benchmarks.images.classifiers import accuracy, train
from benchmarks.images.datasets import NAMES, ImageSet, Pictures, load
from core.privacy.guarantee import PrivacyGuarantee
from core.synthesis.image_anchor import image_anchor_plan
from models.encoding import PrivateImages
from models.images.anchor import noisy_image_moments
from models.images.generator import ImageGenerator
from models.images.mixture import Mixture, mixture_of
from models.randomness import KeyedStreams

DELTA = 1e-5
_KEY = b"the moment anchor of images only"
_ROWS = 500


def main() -> None:
    """Print a line for every epsilon."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("epsilons", nargs="+", type=float)
    parser.add_argument("--images", type=int, default=60_000)
    arguments = parser.parse_args()
    real = load(arguments.name, development=True)
    for epsilon in arguments.epsilons:
        started = time.monotonic()
        mixture = anchor(real, epsilon)
        measured = time.monotonic() - started
        made = drawn(mixture, arguments.images)
        score = accuracy(train("cnn", made, classes=real.classes, seed=0), real.test)
        print(
            f"{arguments.name} epsilon {epsilon:g} delta {DELTA:g}: {100 * score:.2f} % held out, "
            f"{len(made)} images, anchor in {measured:.0f} s, all in {time.monotonic() - started:.0f} s",
            flush=True,
        )


def anchor(real: ImageSet, epsilon: float) -> Mixture:
    """The mixture that the whole guarantee buys, of units that are one image each."""
    images = PrivateImages(
        pixels=real.train.pixels,
        labels=real.train.labels,
        unit_of_record=np.arange(len(real.train)),
        classes=real.classes,
    )
    plan = image_anchor_plan(
        PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        share=1.0,
        declared_size=len(real.train),
        shape=images.shape,
        classes=real.classes,
    )
    return mixture_of(noisy_image_moments(images, plan, KeyedStreams(_KEY)), plan, images.shape)


def drawn(mixture: Mixture, count: int) -> Pictures:
    """Images of the untrained generator with labels by the noisy law, in 8 bits."""
    generator = ImageGenerator(mixture)
    source = torch.Generator().manual_seed(1)
    law = torch.from_numpy(mixture.law)
    labels = torch.multinomial(law, count, replacement=True, generator=source)
    parts = []
    with torch.no_grad():
        for part in torch.split(labels, _ROWS):
            latent = torch.randn(len(part), generator.latent_dimension, generator=source)
            images = generator.anchor(latent, torch.nn.functional.one_hot(part, len(law)).float())
            parts.append((images * 255.0).round().to(torch.uint8).permute(0, 2, 3, 1))
    return Pictures(pixels=torch.cat(parts).numpy(), labels=labels.numpy().astype(np.int16))


if __name__ == "__main__":
    main()
