"""DPGAN, GANobfuscator and DPACGAN as configurations of the product's training, with their settings.

Settings were chosen on the held-out part of MNIST's training images. Keys derive from seeds, so these images are NOT PRIVATE.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.baselines.private_gan import PrivateGan
from benchmarks.baselines.public_threshold import PublicImages
from benchmarks.images.datasets import ImageSet, Pictures
from benchmarks.images.drawing import drawn
from benchmarks.images.idpgan import plan_of
from benchmarks.images.measures import MADE
from core.plan.plan import Plan
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

PUBLIC_IMAGES = 200
"""Training images, the last ones, that are declared public where a method needs some; the private set is without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateGanMethod:
    """One method.

    Args:
        title: as the tables name it.
        options: of the plan, beside those of the ablation "dpgan".
        auxiliary: whether the critic classifies labels too.
        public_images: how many are taken out of the training images and declared public.
    """

    title: str
    options: Mapping[str, Any]
    auxiliary: bool = False
    public_images: int = 0


_COMMON: dict[str, Any] = {
    "ablation": "dpgan",
    "steps": 400,
    "expected_batch_size": 200,
    "critic_steps": 1,
    "generator_batch_size": 64,
    "generator_width": 16,
}
"""Settings of all three; the steps fit a minute of one processor core."""
PRIVATE_GANS: dict[str, PrivateGanMethod] = {
    "dpgan": PrivateGanMethod(title="DPGAN", options=_COMMON),
    "ganobfuscator": PrivateGanMethod(
        title=f"GANobfuscator, {PUBLIC_IMAGES} images declared public",
        options=_COMMON,
        public_images=PUBLIC_IMAGES,
    ),
    "dpacgan": PrivateGanMethod(title="DPACGAN", options=_COMMON, auxiliary=True),
}


def split(images: ImageSet, public: int) -> tuple[ImageSet, PublicImages | None]:
    """The set without its last `public` training images, and these."""
    if public == 0:
        return images, None
    kept, given = images.train.take(slice(-public)), images.train.take(slice(-public, None))
    return replace(images, train=kept), PublicImages(pixels=given.pixels, labels=given.labels)


def private_gan(
    images: ImageSet, method: PrivateGanMethod, *, epsilon: float, seed: int, options: Mapping[str, Any]
) -> tuple[Pictures, Plan]:
    """Images of one method, as many as are scored, and the plan that was charged.

    Args:
        images: the real ones; what is declared public is taken out here.
        method: one of `PRIVATE_GANS`.
        epsilon: to spend, at the tables' delta.
        seed: of everything.
        options: of the plan, in place of the method's.
    """
    private, public = split(images, method.public_images)
    plan = plan_of(private, epsilon=epsilon, options={**method.options, **options})
    key = hashlib.sha256(f"understudy benchmark, not private, {method.title} {seed}".encode()).digest()
    training = PrivateGan(
        private.private(), plan, KeyedStreams(key), NullHost(), auxiliary=method.auxiliary, public=public
    )
    made = training.run()
    distribution = made.label_probabilities
    assert distribution is not None, "the sets of the benchmarks have labels"
    latent = made.latent_dimension
    return drawn(made.network, np.asarray(distribution), images, seed=seed, latent=latent, count=MADE), plan
