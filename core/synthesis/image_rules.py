"""Public rules for images, where they differ from those for tables (`core.synthesis.rules`)."""

from collections.abc import Mapping
from typing import Any

from core.domain.images import ImageDomain

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


def wants_critic(chosen: Mapping[str, Any]) -> bool:
    """Return whether an order that does not say so wants a critic: only if it says something of one, or has no anchor.

    On images the anchor alone scored better than with a critic at a tenth of the budget (docs/idpgan.md, what each part earns), so the
    whole budget is the anchor's.
    """
    return chosen.get("anchor") is False or chosen.get("acts") is True or "steps" in chosen


def defaults(image: ImageDomain, *, anchor: bool, critic: bool) -> dict[str, Any]:
    """Return the options that images change, by name.

    Args:
        image: What is declared.
        anchor: Whether the anchor runs.
        critic: Whether the critic runs.
    """
    side = min(image.height, image.width)
    return {
        "anchor_share": ANCHOR_SHARE if anchor and critic else float(anchor),
        "anchor_diagonal_weight": 1.0,
        "pretraining_steps": 0,
        "critic_layers": next(layers for limit, layers in CRITIC_LAYERS_BY_SIDE if side <= limit),
        "critic_width": CRITIC_WIDTH,
        "generator_width": GENERATOR_WIDTH,
        "generator_blocks": 0,
        "latent_dimension": LATENT_DIMENSION,
        "generator_batch_size": BATCH,
    }
