"""Defaults of the options of images, by public rules, where they differ from those of tables (`core.plan.defaults`)."""

from collections.abc import Mapping
from typing import Any

from core.plan.domain.images import ImageDomain
from core.plan.options import Question

ANCHOR_SHARE = 0.9
"""The anchor's share of squared mu if a critic runs too."""
CRITIC_LAYERS_BY_SIDE = ((15, 1), (127, 2), (256, 3))
"""Number of convolutions, each halving an image, by the smallest listed side not below the image's."""
CRITIC_WIDTH = 16
"""Channels of the first convolution: noise grows with the critic's size."""
GENERATOR_WIDTH = 32
"""Channels of the decoder's last hidden layer."""
LATENT_DIMENSION = 16
"""Latent normals for structure that the anchor does not capture, in addition to those that sample the anchor."""
BATCH = 256
"""Generated images per generator step."""

STEPS_BY_EFFORT = {"quick": 1000, "standard": 4000, "long": 8000}
"""Noisy updates of a critic without an anchor, by the effort. The generator moves after each."""
LONG_UNITS = 50_000
"""Minimum declared units for a critic without an anchor to train "long" if the order sets no effort."""
ALONE_BATCH, ALONE_BATCH_PART = (256, 2048), 200
"""Limits of its expected batch, in units, and the batch as a fraction of the declared size."""
ALONE_GENERATOR_BATCH, ALONE_GENERATOR_WIDTH = 64, 16
"""Images per generator step and channels of the decoder beside it: many cheap moves instead of few large ones."""

LABEL_UNITS, LABEL_EPSILON = 4000, 1.0
"""Minimum declared units per label, on average, and minimum epsilon for a critic of labels to run by
default."""
LABEL_ANCHOR_SHARE = 0.5
"""The anchor's share of squared mu with a critic of labels."""
LABEL_STEPS = 150
"""Noisy updates of a critic of labels; it starts from what the anchor knows."""
LABEL_BATCH, LABEL_BATCH_PART = 2048, 5
"""Limits of its expected batch: in units, and as a fraction of the declared size."""
LABEL_LAYERS_BY_SIDE = ((15, 1), (31, 2), (256, 3))
"""Its convolutions, as above: from 32 pixels on one more than the real-or-fake critic has."""
LABEL_RATE = 4e-3
"""Its learning rate at the first step."""
LABEL_PRETRAINING = 960
"""Its pretraining steps on images of the anchor, before it sees a real one."""
LABEL_GENERATOR_WIDTH = 4
"""Width of a decoder that adds nothing: a critic of labels does not train it."""


def usual_effort(declared_size: int) -> str:
    """Return the effort of a critic without an anchor whose order sets none: "long" where held-out images of every seed were better for it."""
    return "long" if declared_size >= LONG_UNITS else "standard"


def wants_critic(
    chosen: Mapping[str, Any], image: ImageDomain, *, declared_size: int, epsilon: float
) -> bool:
    """Return whether an order that does not set `critic` gets one.

    It does if it sets another option of a critic or has no anchor. Otherwise it does if a critic of labels
    was measured to help or do no harm: on images with labels, from a minimum of units per label and of
    epsilon (docs/idpgan.md, what each part earns).

    Args:
        chosen: The requested options, by name.
        epsilon: Of the whole job.
    """
    if (
        chosen.get("anchor") is False
        or chosen.get("acts") is True
        or {"steps", "first_noise_multiplier", "critic_asks"} & set(chosen)
    ):
        return True
    enough = declared_size >= LABEL_UNITS * len(image.labels) and epsilon >= LABEL_EPSILON
    return len(image.labels) > 1 and enough


def question(image: ImageDomain | None, *, anchor: bool, critic: bool) -> Question:
    """Return the default task of a critic: predicting the labels of images, if there are labels and an anchor."""
    return "labels" if image is not None and image.labels and anchor and critic else "real"


def label_defaults(image: ImageDomain, *, declared_size: int) -> dict[str, Any]:
    """Return the options that a critic of labels changes, by name."""
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


def usual_options(image: ImageDomain, *, anchor: bool, critic: bool, declared_size: int) -> dict[str, Any]:
    """Return the options that images change, by name."""
    least, most = ALONE_BATCH
    alone = {
        "critic_steps": 1,
        "expected_batch_size": min(max(declared_size // ALONE_BATCH_PART, least), most, declared_size),
        "generator_batch_size": ALONE_GENERATOR_BATCH,
        "generator_width": ALONE_GENERATOR_WIDTH,
    }
    rules = {
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
    return rules if anchor else rules | alone


def _layers(by_side: tuple[tuple[int, int], ...], image: ImageDomain) -> int:
    side = min(image.height, image.width)
    return next(layers for limit, layers in by_side if side <= limit)
