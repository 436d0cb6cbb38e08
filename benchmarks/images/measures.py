"""Every measure of one set of made images, as one flat entry of results."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.images.classifiers import (
    CLASSIFIERS,
    KINDS,
    Floats,
    Recipe,
    features,
    probabilities,
    train_on_synthetic_test_on_real,
)
from benchmarks.images.datasets import ImageSet, Pictures
from benchmarks.images.discriminator import RECIPE as DISCRIMINATOR
from benchmarks.images.discriminator import separate
from benchmarks.images.networks import Classifier
from benchmarks.images.scores import (
    frechet_distance,
    inception_score,
    jensen_shannon_bound,
    sliced_wasserstein,
    symmetrised_kl,
)

MADE = 60_000
"""Made images that are scored, as many as the paper has for MNIST."""
COMPARED = 5_000
"""Most images on either side of a distance; both sides have equally many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Amount of training in a measurement.

    Args:
        classifiers: recipe of the classifiers.
        kinds: which classifiers, of `KINDS`.
        discriminator: recipe of the discriminator, or None to leave it out.
    """

    classifiers: Recipe = CLASSIFIERS
    kinds: tuple[str, ...] = KINDS
    discriminator: Recipe | None = DISCRIMINATOR


HEADLINE = Effort(kinds=("cnn",), discriminator=None)
"""The paper's network and the distances alone: where time is short. What is not measured is absent from the entry."""


def distances(images: ImageSet, made: Pictures, scorer: Classifier) -> dict[str, float]:
    """The scores that train nothing: they may be taken many times along a training.

    Returns:
        `inception_score` over all made images, and to the reference half of the test `frechet` (features of the
        scorer) and `sliced_wasserstein` (pixels in [0, 1]).
    """
    count = min(COMPARED, len(made), len(images.reference_half))
    reference, some = images.reference_half.take(slice(count)), made.take(slice(count))
    return {
        "inception_score": inception_score(probabilities(scorer, made.pixels)),
        "frechet": frechet_distance(features(scorer, some.pixels), features(scorer, reference.pixels)),
        "sliced_wasserstein": sliced_wasserstein(_flat(some), _flat(reference)),
        "compared": count,
    }


def measure(
    images: ImageSet, made: Pictures, scorer: Classifier, *, seed: int, effort: Effort | None = None
) -> dict[str, Any]:
    """Everything: classifiers on the whole test, distances to its reference half, and the discriminator.

    Args:
        images: the real ones.
        made: in random order, at least four.
        scorer: of `scorer.scorer(images)`.
        seed: names the draws of everything that is trained.
        effort: how much is trained.
    """
    effort = effort or Effort()
    scores: dict[str, Any] = train_on_synthetic_test_on_real(
        made,
        images.test,
        classes=images.classes,
        seed=seed,
        recipe=effort.classifiers,
        kinds=effort.kinds,
    )
    scores |= distances(images, made, scorer) | {"made": len(made)}
    if effort.discriminator is not None:
        found = separate(images.train, made, unseen=images.test, seed=seed, recipe=effort.discriminator)
        scores |= {
            "symmetrised_kl": symmetrised_kl(found.made),
            "jensen_shannon_bound": jensen_shannon_bound(found.real, found.made),
            "told_apart": found.accuracy,
        }
    return scores


def _flat(pictures: Pictures) -> Floats:
    return pictures.pixels.reshape(len(pictures), -1).astype(np.float64) / 255.0
