"""The critic by the public rule (`"anchor": false`) without its privacy: what it would reach if nothing had to be hidden.

Networks, batches, learning rates and the number of steps are those of the rule; clipping, noise and Poisson sampling are
missing. So the difference to the private rows is the price of privacy, and the difference to real images is not. It is part
of the benchmarks and not of the product, so that no job can run it.
"""

import hashlib
from typing import Any

import numpy as np

from benchmarks.images.datasets import ImageSet, Pictures
from benchmarks.images.drawing import drawn
from benchmarks.images.idpgan import plan_of
from benchmarks.images.measures import MADE
from benchmarks.images.networks import named_seed
from benchmarks.images.wasserstein_gan import Settings, train_wgan_gp
from core.plan.critic_groups import critic_channels
from core.plan.plan import Plan
from models.critic.conv_network import ConvCritic
from models.images.generator import ImageGenerator
from models.images.mixture import plain_mixture
from models.private_step import ADAM_BETAS
from models.randomness import KeyedStreams

EPSILON = 1.0
"""Epsilon of the plan that the options are read from; none of those used here depends on it."""


def rule_settings(plan: Plan) -> Settings:
    """The settings of a plan of a critic without an anchor."""
    options = plan.idpgan_options
    assert isinstance(options.critic_steps, int), "the rule fixes the number of critic steps"
    return Settings(
        generator_steps=plan.steps // options.critic_steps,
        critic_steps=options.critic_steps,
        batch=plan.expected_batch_size,
        generator_batch=options.generator_batch_size,
        learning_rate=options.critic_learning_rate,
        generator_rate=options.generator_learning_rate,
        first_decay=ADAM_BETAS[0],
        falling=True,
        ema_decay=options.ema_decay,
    )


def rule_without_privacy(images: ImageSet, *, seed: int, options: dict[str, Any]) -> Pictures:
    """Images of the rule's generator, trained without privacy.

    Args:
        images: the real ones, with labels.
        seed: of everything.
        options: of the plan.
    """
    plan = plan_of(images, epsilon=EPSILON, options={"anchor": False} | options)
    shape, streams = images.private().shape, _streams(seed)
    height, width, channels = shape
    of_plan = plan.idpgan_options
    generator = ImageGenerator(
        plain_mixture(shape, images.classes),
        width=of_plan.generator_width,
        extra=of_plan.latent_dimension,
    )
    generator.initialise(streams)
    critic = ConvCritic(
        image=(channels, height, width), widths=critic_channels(of_plan), classes=images.classes
    ).initialise(streams)
    trained = train_wgan_gp(
        images.train,
        generator,
        critic,
        classes=images.classes,
        latent_dimension=generator.latent_dimension,
        settings=rule_settings(plan),
        seed=named_seed("rule without privacy", seed),
    )
    distribution = np.bincount(images.train.labels, minlength=images.classes) / len(images.train)
    return drawn(trained, distribution, images, seed=seed, latent=generator.latent_dimension, count=MADE)


def _streams(seed: int) -> KeyedStreams:
    return KeyedStreams(hashlib.sha256(f"understudy benchmark, not private, rule {seed}".encode()).digest())
