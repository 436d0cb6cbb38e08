"""Warm-up: a critic of labels learns from the anchor's images before it sees a real one. Free of charge.

The anchor is already released, so any number of its images costs nothing. After the warm-up the critic knows what the
anchor knows, and its noisy steps on real images add what the anchor does not know.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.func import functional_call

from models.critic.label_network import LabelCritic
from models.idpgan.adam import Adam
from models.images.generator import ImageGenerator
from models.labels import drawn_labels
from models.randomness import KeyedStreams, Purpose

BATCHES, BATCH = 160, 128
"""The most distinct batches, which are used in turn, and the images of each."""
LEARNING_RATE = 2e-3
"""Learning rate of the first step; it falls linearly to zero."""


def warm_up(
    critic: LabelCritic,
    generator: ImageGenerator,
    distribution: npt.NDArray[np.float64],
    streams: KeyedStreams,
    *,
    steps: int,
) -> None:
    """Train the critic on generated images, in place.

    Args:
        critic: initialised; its parameters keep their memory.
        generator: draws from the anchor's distribution, on the critic's device.
        distribution: (classes,) shares of the labels.
    """
    device = critic.linear_layers()[0].weight.device
    batches = [
        _drawn(generator, distribution, streams, number, device) for number in range(min(steps, BATCHES))
    ]
    learnt = {name: value.detach().clone().requires_grad_() for name, value in critic.named_parameters()}
    adam = Adam(learnt.values())
    for step in range(steps):
        images, labels = batches[step % len(batches)]
        loss = -functional_call(critic, learnt, (images, labels)).mean()
        adam.descend(loss, rate=LEARNING_RATE * (1.0 - step / steps))
    with torch.no_grad():
        for name, value in critic.named_parameters():
            value.copy_(learnt[name])


def _drawn(
    generator: ImageGenerator,
    distribution: npt.NDArray[np.float64],
    streams: KeyedStreams,
    number: int,
    device: torch.device,
) -> tuple[Tensor, Tensor]:
    one_hot = drawn_labels(distribution, streams.uniforms(Purpose.CRITIC_LABELS, number, BATCH))
    latent = streams.torch_normals(Purpose.CRITIC_LATENT, number, (BATCH, generator.latent_dimension))
    with torch.no_grad():
        return generator(latent.to(device), one_hot.to(device)), one_hot.argmax(dim=1).to(device)
