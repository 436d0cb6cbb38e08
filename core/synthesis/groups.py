"""How many public groups the critic's coordinates fall into, known before any row is read.

`models` builds exactly these groups and asserts the number, because each group's histogram of gradient norms
costs budget on a refresh step.
"""

from itertools import pairwise

from core.synthesis.options import IdpganOptions


def critic_shapes(options: IdpganOptions, cells: int) -> tuple[tuple[int, int], ...]:
    """Return (outputs, inputs) of every weight matrix of the critic, first to last.

    Args:
        options: The width and the number of hidden layers.
        cells: One-hot cells of a record: the sum of the modelled columns' cardinalities.
    """
    widths = [cells, *([options.critic_width] * options.critic_layers), 1]
    return tuple((outputs, inputs) for inputs, outputs in pairwise(widths))


def blocks_per_layer(options: IdpganOptions, cells: int) -> tuple[int, ...]:
    """Return into how many blocks of rows each weight matrix is cut; one each unless the grouping is "rows"."""
    if options.grouping != "rows":
        return tuple(1 for _ in critic_shapes(options, cells))
    return tuple(min(options.row_blocks, outputs) for outputs, _ in critic_shapes(options, cells))


def group_count(options: IdpganOptions, cells: int) -> int:
    """Return the number of groups: one in all for "flat", else the blocks of all layers and one for all biases."""
    return 1 if options.grouping == "flat" else sum(blocks_per_layer(options, cells)) + 1
