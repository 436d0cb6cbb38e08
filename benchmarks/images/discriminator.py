"""A discriminator that learns to separate made images from real ones, and its scores on images it has not seen."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.images.classifiers import Recipe, probabilities, train
from benchmarks.images.datasets import Pictures
from benchmarks.images.networks import Classifier

Floats = npt.NDArray[np.float64]
LEARNT_FROM = 10_000
"""Most images of either kind that it learns from."""
RECIPE = Recipe(epochs=5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Separation:
    """Log-odds that unseen images are real.

    Args:
        real: (images,) of real ones.
        made: (images,) of made ones.
    """

    real: Floats
    made: Floats

    @property
    def accuracy(self) -> float:
        """Mean of the shares of real and of made images that are classified right; one half where it is undecided."""
        return float(((self.real > 0).mean() + (self.made <= 0).mean()) / 2.0)


def separate(
    real: Pictures, made: Pictures, *, unseen: Pictures, seed: int, recipe: Recipe = RECIPE
) -> Separation:
    """Train the paper's network on equally many images of either kind and question it about others.

    Args:
        real: images to learn from.
        made: the first half is learnt from, the second half questioned.
        unseen: real images to question, of which as many as of the made ones are taken.
        seed: names the draws.
        recipe: how it is trained.
    """
    half = len(made) // 2
    count = min(LEARNT_FROM, len(real), half)
    pixels = np.concatenate([made.pixels[:count], real.pixels[:count]])
    labels = np.repeat(np.array([0, 1], dtype=np.int16), count)
    network = train("cnn", Pictures(pixels=pixels, labels=labels), classes=2, seed=seed, recipe=recipe)
    questioned = min(len(unseen), len(made) - half)
    return Separation(
        real=_log_odds(network, unseen.pixels[:questioned]),
        made=_log_odds(network, made.pixels[half : half + questioned]),
    )


def _log_odds(network: Classifier, pixels: npt.NDArray[np.uint8]) -> Floats:
    answers = probabilities(network, pixels)
    tiny = np.finfo(np.float64).tiny
    return np.log(np.maximum(answers[:, 1], tiny)) - np.log(np.maximum(answers[:, 0], tiny))
