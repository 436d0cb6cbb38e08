"""The number of public groups of the critic's coordinates, known before any row is read.

`models` builds exactly these groups and asserts the number, because each group's histogram of gradient norms
costs budget on a refresh step.
"""

from itertools import pairwise
from typing import Final

from core.plan.domain.images import ImageDomain
from core.plan.errors import InvalidSpec
from core.plan.options import IdpganOptions

KERNEL: Final = 4
"""Side of a patch in pixels, in the critic of images."""
STRIDE, PADDING = 2, 1
"""Stride: every convolution halves an image."""
WIDTH_UNIT: Final = 16
"""The channels of a critic of images are multiples of this."""


def critic_shapes(options: IdpganOptions, cells: int) -> tuple[tuple[int, int], ...]:
    """Return (outputs, inputs) of every weight matrix of the critic, first to last.

    Args:
        cells: One-hot cells of a record: the sum of the modelled columns' cardinalities.
    """
    widths = [cells, *([options.critic_width] * options.critic_layers), 1]
    return tuple((outputs, inputs) for inputs, outputs in pairwise(widths))


def critic_channels(options: IdpganOptions) -> tuple[int, ...]:
    """Return the channels of every convolution of a critic of images; they double with each layer."""
    return tuple(options.critic_width * 2**layer for layer in range(options.critic_layers))


def image_critic_shapes(options: IdpganOptions, image: ImageDomain) -> tuple[tuple[int, int], ...]:
    """Return (outputs, inputs) of every matrix of the critic of images: convolutions by channels and patches, then classes.

    Raises:
        InvalidSpec: no such critic exists for images of this size.
    """
    if options.critic_width % WIDTH_UNIT:
        raise InvalidSpec(
            f"critic_width must be a multiple of {WIDTH_UNIT} for images", remedy=f"choose {WIDTH_UNIT} or 32"
        )
    height, width, below = image.height, image.width, image.channels
    shapes: list[tuple[int, int]] = []
    for above in critic_channels(options):
        shapes.append((above, KERNEL**2 * below))
        height, width = ((side + 2 * PADDING - KERNEL) // STRIDE + 1 for side in (height, width))
        below = above
    if min(height, width) < 1:
        raise InvalidSpec("critic_layers is too large for images of this size", remedy="choose fewer layers")
    return (*shapes, (max(len(image.labels), 1), height * width * below))


def group_count(options: IdpganOptions, cells: int) -> int:
    """Return the number of groups: one for "flat", else the blocks of all layers and one for all biases."""
    return groups_of_shapes(options, critic_shapes(options, cells))


def groups_of_shapes(options: IdpganOptions, shapes: tuple[tuple[int, int], ...]) -> int:
    """Return the number of groups of a critic with weight matrices of these (outputs, inputs), convolutions included."""
    if options.grouping == "flat":
        return 1
    most = options.row_blocks if options.grouping == "rows" else 1
    return sum(min(most, outputs) for outputs, _ in shapes) + 1
