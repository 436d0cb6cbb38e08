"""Made images with labels, drawn from what a method leaves behind."""

import numpy as np
import torch
from torch import nn

from benchmarks.images.classifiers import Floats
from benchmarks.images.datasets import ImageSet, Pictures
from benchmarks.images.networks import named_seed
from benchmarks.images.wasserstein_gan import sample

DELTA = 1e-5
"""Delta of every private row of the tables."""


def drawn(
    network: nn.Module, distribution: Floats, images: ImageSet, *, seed: int, latent: int, count: int
) -> Pictures:
    """Images with labels of a distribution, in random order.

    Args:
        network: (latent, label one-hot) to images in [0, 1].
        distribution: (classes,) shares.
        images: whose classes there are.
        seed: names the draws.
        latent: inputs of the network.
        count: images.
    """
    rng = np.random.default_rng(named_seed("labels", seed))
    labels = torch.from_numpy(rng.choice(images.classes, size=count, p=distribution))
    return sample(
        network, labels, classes=images.classes, latent_dimension=latent, seed=named_seed("latent", seed)
    )
