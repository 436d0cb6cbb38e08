"""Public rules for images, where they differ from those for tables (`core.synthesis.rules`)."""

from collections.abc import Mapping
from typing import Any

from core.domain.images import ImageDomain
from core.synthesis.options import Question

ANCHOR_SHARE = 0.9
"""The anchor's share of squared mu where a critic runs too."""
CRITIC_LAYERS_BY_SIDE = ((15, 1), (127, 2), (256, 3))
"""Convolutions, each of which halves an image, by the smallest side listed that is not below."""
CRITIC_WIDTH = 16
"""Channels of the first convolution: noise grows with the critic's size."""
GENERATOR_WIDTH = 32
"""Channels of the decoder's last hidden layer."""
LATENT_DIMENSION = 16
"""Normals for what the anchor cannot see, beside those that draw from it."""
BATCH = 256
"""Generated images of one step of the generator."""

LABEL_UNITS, LABEL_EPSILON = 4000, 1.0
"""Declared units of a label, on average, and epsilon from which on a critic of labels runs where nobody says."""
LABEL_ANCHOR_SHARE = 0.5
"""The anchor's share of squared mu beside a critic of labels."""
LABEL_STEPS = 150
"""Noisy updates of a critic of labels; it starts from what the anchor knows."""
LABEL_BATCH, LABEL_BATCH_PART = 2048, 5
"""Its expected batch at most, in units, and the part of the declared size that is not exceeded either."""
LABEL_LAYERS_BY_SIDE = ((15, 1), (31, 2), (256, 3))
"""Its convolutions, as above: from 32 pixels on one more than a critic of real or made has."""
LABEL_RATE = 4e-3
"""Its learning rate at the first step."""
LABEL_PRETRAINING = 960
"""Its steps on the anchor's own pictures, before it sees a real one."""
LABEL_GENERATOR_WIDTH = 4
"""Of a decoder that adds nothing, for no critic of labels moves it."""


def wants_critic(
    chosen: Mapping[str, Any], image: ImageDomain, *, declared_size: int, epsilon: float
) -> bool:
    """Return whether an order that does not say so wants a critic.

    It does if it says something of one, or has no anchor; else where a critic of labels was measured to pay or to do no
    harm: on images with labels, from so many units of a label and so much epsilon on (docs/idpgan.md, what each part earns).

    Args:
        chosen: What was asked for, by name.
        image: What is declared.
        declared_size: Units.
        epsilon: Of the whole job.
    """
    if chosen.get("anchor") is False or chosen.get("acts") is True or {"steps", "critic_asks"} & set(chosen):
        return True
    enough = declared_size >= LABEL_UNITS * len(image.labels) and epsilon >= LABEL_EPSILON
    return len(image.labels) > 1 and enough


def question(image: ImageDomain | None, *, anchor: bool, critic: bool) -> Question:
    """Return what a critic is asked where nobody says: the labels of images, if there are labels and an anchor."""
    return "labels" if image is not None and image.labels and anchor and critic else "real"


def label_defaults(image: ImageDomain, *, declared_size: int) -> dict[str, Any]:
    """Return the options that a critic of labels changes, by name.

    Args:
        image: What is declared.
        declared_size: Units.
    """
    batch = min(max(declared_size // LABEL_BATCH_PART, 1), LABEL_BATCH)
    return {
        "critic_asks": "labels",
        "critic_layers": _layers(LABEL_LAYERS_BY_SIDE, image),
        "anchor_share": LABEL_ANCHOR_SHARE,
        "expected_batch_size": batch,
        "critic_learning_rate": LABEL_RATE,
        "pretraining_steps": LABEL_PRETRAINING,
        "generator_width": LABEL_GENERATOR_WIDTH,
    }


def defaults(image: ImageDomain, *, anchor: bool, critic: bool) -> dict[str, Any]:
    """Return the options that images change, by name.

    Args:
        image: What is declared.
        anchor: Whether the anchor runs.
        critic: Whether the critic runs.
    """
    return {
        "anchor_share": ANCHOR_SHARE if anchor and critic else float(anchor),
        "anchor_diagonal_weight": 1.0,
        "pretraining_steps": 0,
        "critic_layers": _layers(CRITIC_LAYERS_BY_SIDE, image),
        "critic_width": CRITIC_WIDTH,
        "generator_width": GENERATOR_WIDTH,
        "generator_blocks": 0,
        "latent_dimension": LATENT_DIMENSION,
        "generator_batch_size": BATCH,
    }


def _layers(by_side: tuple[tuple[int, int], ...], image: ImageDomain) -> int:
    side = min(image.height, image.width)
    return next(layers for limit, layers in by_side if side <= limit)
