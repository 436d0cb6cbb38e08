"""Baselines on real images: train, sample, score, keep.

    python -m benchmarks.images.baselines mnist --method mean-embedding --epsilon 1 4 10
    python -m benchmarks.images.baselines mnist --method wgan-gp
    python -m benchmarks.images.baselines mnist --method rule-without-privacy --headline
    python -m benchmarks.images.baselines mnist --method ganobfuscator --epsilon 4

Keys derive from seeds, so these images are NOT PRIVATE, and those of `WITHOUT_PRIVACY` would not be under any key.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.baselines.matching import MatchingOptions, fit_mean_embedding
from benchmarks.baselines.networks import ImageGenerator, initialise
from benchmarks.images.curves import Curve
from benchmarks.images.datasets import NAMES, ImageSet, Pictures, load
from benchmarks.images.drawing import DELTA, drawn
from benchmarks.images.measures import HEADLINE, MADE, Effort
from benchmarks.images.networks import named_seed
from benchmarks.images.private_gans import PRIVATE_GANS, private_gan
from benchmarks.images.rule_without_privacy import rule_without_privacy
from benchmarks.images.score import record
from benchmarks.images.wasserstein_gan import Settings, train_wgan_gp
from benchmarks.machine import load_average
from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from models.critic.conv_network import ConvCritic
from models.randomness import KeyedStreams, Purpose

LATENT, GENERATOR_WIDTH, CRITIC_WIDTHS = 64, 16, (32, 64)
"""Sizes of the networks of wgan-gp; the critic is the product's, trained without privacy."""
WATCHED = 5000
"""Images of a point of a curve."""
BRIEF = 10_000
"""Images that are scored where time is short; the entry and the tables say so."""
LOOK_EVERY = 5
"""Generator steps between two chances of a point of a curve."""


def mean_embedding(images: ImageSet, *, epsilon: float, seed: int, options: dict[str, Any]) -> Pictures:
    """Images of a generator that matches one noisy mean embedding."""
    multiplier = gaussian_noise_multiplier(PrivacyGuarantee(epsilon=epsilon, delta=DELTA))
    fitted = fit_mean_embedding(
        images.private(), _streams(seed), noise_multiplier=multiplier, options=MatchingOptions(**options)
    )
    return drawn(
        fitted.network,
        fitted.embedding.distribution,
        images,
        seed=seed,
        latent=fitted.network.latent_dimension,
        count=MADE,
    )


def wgan_gp(images: ImageSet, *, seed: int, options: dict[str, Any]) -> Pictures:
    """Images of a generator without privacy; in development its curve is kept on the way."""
    private, streams = images.private(), _streams(seed)
    generator = ImageGenerator(
        shape=private.shape, classes=images.classes, latent_dimension=LATENT, width=GENERATOR_WIDTH
    )
    height, width, channels = private.shape
    critic = ConvCritic(
        image=(channels, height, width), widths=CRITIC_WIDTHS, classes=images.classes
    ).initialise(streams)
    initialise(generator, streams, Purpose.GENERATOR_INIT)
    distribution = np.bincount(images.train.labels, minlength=images.classes) / len(images.train)
    curve = Curve(images, f"{images.name} {METHODS['wgan-gp']} seed {seed}") if images.development else None

    settings = Settings(**{"watch_every": LOOK_EVERY, **options})

    def watched(network: nn.Module) -> Pictures:
        return drawn(network, distribution, images, seed=seed, latent=LATENT, count=WATCHED)

    def watch(step: int, network: nn.Module) -> None:
        if curve is not None:
            curve.point(step, lambda: watched(network))

    trained = train_wgan_gp(
        images.train,
        generator,
        critic,
        classes=images.classes,
        latent_dimension=LATENT,
        settings=settings,
        seed=named_seed("wgan-gp", seed),
        watch=watch,
    )
    if curve is not None:
        curve.measure(settings.generator_steps, lambda: watched(trained))
        curve.keep()
    return drawn(trained, distribution, images, seed=seed, latent=LATENT, count=MADE)


METHODS: dict[str, str] = {
    "mean-embedding": "mean embedding",
    "wgan-gp": "WGAN-GP without privacy",
    "rule-without-privacy": "critic only, without privacy",
    **{name: method.title for name, method in PRIVATE_GANS.items()},
}
"""What `--method` may name, and how the tables name it."""
WITHOUT_PRIVACY = {"wgan-gp": wgan_gp, "rule-without-privacy": rule_without_privacy}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Result of one run.

    Args:
        pictures: in random order.
        facts: more to keep beside the scores.
    """

    pictures: Pictures
    facts: Mapping[str, Any] = field(default_factory=dict)


def made_by(
    name: str, images: ImageSet, *, epsilon: float | None, seed: int, options: dict[str, Any]
) -> Made:
    """Run a method.

    Args:
        name: one of `METHODS`.
        images: the real ones.
        epsilon: to spend; None for those without privacy, and for these alone.
        seed: of everything.
        options: of the method.
    """
    if epsilon is None:
        return Made(pictures=WITHOUT_PRIVACY[name](images, seed=seed, options=options))
    if name == "mean-embedding":
        return Made(pictures=mean_embedding(images, epsilon=epsilon, seed=seed, options=options))
    pictures, plan = private_gan(images, PRIVATE_GANS[name], epsilon=epsilon, seed=seed, options=options)
    spent = {
        "steps": plan.steps,
        "expected_batch": plan.expected_batch_size,
        "spent_epsilon": plan.epsilons.reported,
        "public_images": len(images.train) - plan.declared_size,
    }
    return Made(pictures=pictures, facts=spent)


def _streams(seed: int) -> KeyedStreams:
    return KeyedStreams(
        hashlib.sha256(f"understudy benchmark, not private, baseline {seed}".encode()).digest()
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 4.0, 10.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--development", action="store_true", help="scores are not written, curves are")
    parser.add_argument(
        "--headline", action="store_true", help="train the paper's network alone on what is made"
    )
    parser.add_argument(
        "--brief", action="store_true", help=f"score {BRIEF} images, and train no discriminator"
    )
    parser.add_argument("--set", default="{}", help="options of the method, as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    images, options = load(chosen.name, development=chosen.development), json.loads(chosen.set)
    private = chosen.method not in WITHOUT_PRIVACY
    effort = Effort(discriminator=None) if chosen.brief else None
    effort = HEADLINE if chosen.headline else effort
    for epsilon in chosen.epsilon if private else [None]:
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            load_before, begun = load_average(), time.perf_counter()
            made = made_by(chosen.method, images, epsilon=epsilon, seed=seed, options=options)
            facts = {
                "seconds": round(time.perf_counter() - begun, 1),
                "load": load_before,
                "threads": chosen.threads,
            }
            entry = record(
                images,
                made.pictures.take(slice(BRIEF)) if chosen.brief else made.pictures,
                method=METHODS[chosen.method],
                epsilon=epsilon,
                delta=DELTA if private else None,
                seed=seed,
                facts={**facts, "options": options, **made.facts},
                effort=effort,
            )
            print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
