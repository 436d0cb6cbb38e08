"""WGAN-GP by class, without privacy: what the paper's base method reaches when nothing has to be hidden.

Losses are the paper's equations 6 and 7 (Gulrajani et al. 2017), by plain automatic differentiation: the critic minimises
`D(x~, y) - D(x, y) + gp_weight (|grad_x D(x^, y)| - 1)^2` with `x^` between a real and a made image of one label, the
generator minimises `-D(G(z, y), y)`. It is part of the benchmarks and not of the product, so that no job can run it.
"""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.images.datasets import Pictures


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The paper's settings but for the number of steps, the average and a faster rate at the start.

    Args:
        generator_steps: updates of the generator.
        critic_steps: updates of the critic before each of them.
        batch: images of a critic's step.
        generator_batch: generated images of a generator's step, at most as many; None for as many.
        gp_weight: of the gradient penalty.
        learning_rate: of both Adams.
        generator_rate: of the generator's Adam instead; None for the same.
        first_decay: of both Adams, of the mean of gradients; that of their squares is 0.9.
        falling: let the generator's rate fall along a cosine, to `LOWEST_RATE` of itself.
        ema_decay: of the exponential average of the generator, which is what is sampled.
        watch_every: generator steps between two looks of the watcher.
    """

    generator_steps: int = 4000
    critic_steps: int = 5
    batch: int = 64
    generator_batch: int | None = None
    gp_weight: float = 10.0
    learning_rate: float = 2e-4
    generator_rate: float | None = None
    first_decay: float = 0.0
    falling: bool = False
    ema_decay: float = 0.999
    watch_every: int = 200


LOWEST_RATE = 0.02
"""Share of a falling learning rate that is left at the end."""
Watcher = Callable[[int, nn.Module], None]


def train_wgan_gp(
    pictures: Pictures,
    generator: nn.Module,
    critic: nn.Module,
    *,
    classes: int,
    latent_dimension: int,
    settings: Settings,
    seed: int,
    watch: Watcher = lambda _step, _network: None,
) -> nn.Module:
    """Train from scratch; the networks come initialised and are changed in place.

    Args:
        pictures: real images.
        generator: (latent, label one-hot) to (rows, channels, height, width) in [0, 1].
        critic: (images, labels) to (rows,) scores.
        classes: labels.
        latent_dimension: standard normal inputs.
        settings: how.
        seed: of all draws.
        watch: called with the number of generator steps and the averaged generator, for curves.

    Returns:
        The averaged generator.
    """
    draws = torch.Generator().manual_seed(seed)
    decays = (settings.first_decay, 0.9)
    rate = settings.learning_rate if settings.generator_rate is None else settings.generator_rate
    critic_adam = torch.optim.Adam(critic.parameters(), lr=settings.learning_rate, betas=decays)
    generator_adam = torch.optim.Adam(generator.parameters(), lr=rate, betas=decays)
    schedule = torch.optim.lr_scheduler.LambdaLR(generator_adam, lambda moves: _share(moves, settings))
    averaged = copy.deepcopy(generator)
    batches = _batches(pictures, settings.batch, draws)

    def made(labels: Tensor) -> Tensor:
        latent = torch.randn(len(labels), latent_dimension, generator=draws)
        return torch.as_tensor(generator(latent, torch.eye(classes)[labels]))

    for step in range(1, settings.generator_steps + 1):
        for _ in range(settings.critic_steps):
            real, labels = next(batches)
            with torch.no_grad():
                fake = made(labels)
            mix = torch.rand(len(real), 1, 1, 1, generator=draws)
            loss = critic_loss(critic, real, fake, labels, mix, gp_weight=settings.gp_weight)
            _update(critic_adam, loss)
        labels = next(batches)[1][: settings.generator_batch]
        _update(generator_adam, -critic(made(labels), labels).mean())
        schedule.step()
        with torch.no_grad():
            for mean, new in zip(averaged.parameters(), generator.parameters(), strict=True):
                mean.lerp_(new, 1.0 - settings.ema_decay)
        if step % settings.watch_every == 0:
            watch(step, averaged)
    return averaged


def critic_loss(
    critic: Callable[[Tensor, Tensor], Tensor],
    real: Tensor,
    fake: Tensor,
    labels: Tensor,
    mix: Tensor,
    *,
    gp_weight: float,
) -> Tensor:
    """The mean over records of the paper's equation 7.

    Args:
        critic: (records, labels) to (rows,).
        real: (rows, ...) images, or records of a table in one-hot form.
        fake: likewise, of the same labels.
        labels: (rows,) int64; a table's critic reads them in the records.
        mix: (rows, 1, ...) share of the real record in the point between.
        gp_weight: of the penalty.
    """
    between = torch.lerp(fake, real, mix).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between, labels).sum(), between, create_graph=True)
    norms = slope.flatten(1).square().sum(dim=1).clamp_min(1e-12).sqrt()
    penalty = gp_weight * (norms - 1.0).square()
    return torch.as_tensor((critic(fake, labels) - critic(real, labels) + penalty).mean())


def sample(
    generator: nn.Module, labels: Tensor, *, classes: int, latent_dimension: int, seed: int
) -> Pictures:
    """One image of every label of (rows,) int64; without classes all labels are 0."""
    draws = torch.Generator().manual_seed(seed)
    parts = []
    with torch.no_grad():
        for some in torch.split(labels, 500):
            latent = torch.randn(len(some), latent_dimension, generator=draws)
            parts.append(generator(latent, torch.eye(max(classes, 1), classes)[some]))
    pixels = torch.cat(parts).mul(255.0).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1)
    return Pictures(pixels=pixels.contiguous().numpy(), labels=labels.numpy().astype(np.int16))


def _batches(pictures: Pictures, batch: int, draws: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    labels = torch.from_numpy(pictures.labels.astype(np.int64))
    while True:
        order = torch.randperm(len(pictures), generator=draws)
        for chosen in torch.split(order, batch):
            pixels = torch.from_numpy(pictures.pixels[chosen.numpy()]).permute(0, 3, 1, 2)
            yield pixels.float().div_(255.0), labels[chosen]


def _share(moves: int, settings: Settings) -> float:
    """The share of the generator's rate that is left after so many of its updates."""
    if not settings.falling:
        return 1.0
    progress = moves / settings.generator_steps
    return LOWEST_RATE + (1.0 - LOWEST_RATE) * 0.5 * (1.0 + math.cos(math.pi * progress))


def _update(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()
