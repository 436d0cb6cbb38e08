"""A generator that matches a noisy mean embedding: free post-processing of one release."""

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.baselines.fourier import FourierFeatures
from benchmarks.baselines.mean_embedding import MeanEmbedding, noisy_embedding
from benchmarks.baselines.networks import ImageGenerator, initialise
from models.encoding import PrivateImages
from models.randomness import KeyedStreams, Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingOptions:
    """Public constants of this baseline.

    Args:
        frequencies: of the features.
        bandwidth: of the kernel where pixels are in [0, 1], or None for a quarter of the root of an image's numbers: 7 for
            28 x 28, near the distance of two digits.
        count_share: share of the squared mu for the counts of the classes.
        steps: of the generator.
        batch: images of a step, equally many of every class.
        learning_rate: of Adam.
        latent_dimension: of the generator.
        width: of the generator.
    """

    frequencies: int = 1000
    bandwidth: float | None = None
    count_share: float = 0.05
    steps: int = 1500
    batch: int = 200
    learning_rate: float = 1e-3
    latent_dimension: int = 10
    width: int = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matched:
    """Output: all of it is post-processing of one Gaussian release.

    Args:
        network: (latent, label one-hot) to images in [0, 1].
        embedding: the noisy release.
        losses: squared distance of every step.
    """

    network: ImageGenerator
    embedding: MeanEmbedding
    losses: list[float]


def fit_mean_embedding(
    images: PrivateImages, streams: KeyedStreams, *, noise_multiplier: float, options: MatchingOptions
) -> Matched:
    """Release the mean embedding once and train a generator to match it.

    Args:
        images: private.
        streams: of the job.
        noise_multiplier: of the one release; `core.dp.calibration.gaussian_noise_multiplier` gives it.
        options: public.
    """
    height, width, channels = images.shape
    values = height * width * channels
    normals = streams.normals(Purpose.EMBEDDING_FREQUENCIES, 0, (values, options.frequencies))
    features = FourierFeatures.from_normals(normals, bandwidth=options.bandwidth or math.sqrt(values) / 4.0)
    embedding = noisy_embedding(
        images, features, streams, noise_multiplier=noise_multiplier, count_share=options.count_share
    )
    network = ImageGenerator(
        shape=images.shape,
        classes=images.classes,
        latent_dimension=options.latent_dimension,
        width=options.width,
    )
    initialise(network, streams, Purpose.GENERATOR_INIT)
    averaged, losses = _match(network, embedding, features, streams, options)
    return Matched(network=averaged, embedding=embedding, losses=losses)


def _match(
    network: ImageGenerator,
    embedding: MeanEmbedding,
    features: FourierFeatures,
    streams: KeyedStreams,
    options: MatchingOptions,
) -> tuple[ImageGenerator, list[float]]:
    """Minimise `sum_y |p_y mean f(G(z, y)) - S_y / sum of counts|^2`; the weights of the last tenth are averaged."""
    distribution = torch.from_numpy(embedding.distribution).float()
    targets = torch.from_numpy(embedding.features / max(1.0, float(embedding.counts.sum()))).float()
    classes = len(distribution)
    each = max(1, options.batch // classes)
    labels = torch.arange(classes).repeat_interleave(each)
    one_hot = torch.eye(classes)[labels][:, : network.classes]
    optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate)
    averaged, first_averaged = copy.deepcopy(network), options.steps - options.steps // 10
    losses = []
    for step in range(options.steps):
        latent = streams.torch_normals(
            Purpose.GENERATOR_LATENT, step, (len(labels), network.latent_dimension)
        )
        made = network(latent, one_hot).permute(0, 2, 3, 1).flatten(1)
        means = features.smooth(made).reshape(classes, each, -1).mean(dim=1)
        loss = (distribution[:, None] * means - targets).square().sum()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(float(loss.detach()))
        _average(averaged, network, seen=max(0, step - first_averaged))
    return averaged, losses


def _average(averaged: ImageGenerator, network: ImageGenerator, *, seen: int) -> None:
    """Take one more set of weights into the mean of `seen` before it."""
    with torch.no_grad():
        mean: Tensor
        for mean, new in zip(averaged.parameters(), network.parameters(), strict=True):
            mean.lerp_(new, 1.0 / (seen + 1))
