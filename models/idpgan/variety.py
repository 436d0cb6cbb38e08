"""Variation that the records of a table must have according to its noisy moments. Post-processing, free of charge."""

import numpy as np
import numpy.typing as npt

from models.synthesizer import NoisyVariety
from models.tables.anchor import MomentLayout
from models.tables.estimation.targets import MomentTargets

Floats = npt.NDArray[np.float64]
DRAWS = 5000
"""Records drawn to check a new generator (`models.generator_check`)."""
SURE = 6.0
"""A share is certain if it exceeds this many standard deviations of its noise."""
OPEN = 0.1
"""From this standard deviation of the noise on the share of a value on, the counts say nothing about it."""


def noisy_variety(targets: MomentTargets, layout: MomentLayout) -> NoisyVariety:
    """The variety that the moments are sure of."""
    columns = len(layout.cardinalities)
    spread, is_open = np.zeros(columns), np.zeros(columns, dtype=np.bool_)
    shares, stds = targets.ones.sum(axis=0), targets.margin_std
    for column, block in zip(layout.features, layout.blocks, strict=True):
        most = int(np.argmax(shares[block]))
        spread[column] = _sure(1.0 - shares[block][most], stds[block][most])
        is_open[column] = stds[block][most] >= OPEN
    if layout.by_class and layout.target_index is not None:
        # The target is drawn by its measured distribution.
        spread[layout.target_index] = 1.0 - float(targets.distribution.max())
    return NoisyVariety(
        spread=spread,
        is_open=is_open,
        spread_within=None if layout.target_index is None else _within(targets, layout, columns),
        combinations=_combinations(targets, layout),
    )


def _sure(share: float, std: float) -> float:
    return max(0.0, share - SURE * std)


def _within(targets: MomentTargets, layout: MomentLayout, columns: int) -> Floats:
    """The variety within every label: from the one-way counts of its class, else from its pairs with every column."""
    target = layout.target_index
    assert target is not None, "labels come from a target"
    if layout.by_class:
        rows, std, totals = targets.ones, targets.one_std, targets.distribution
    else:
        place = layout.blocks[target]
        rows, totals = targets.pairs[0, place], targets.ones[0, place]
        std = targets.pair_std[place]
    within = np.zeros((len(rows), columns))
    for label, total in enumerate(totals):
        for column, block in zip(layout.features, layout.blocks, strict=True):
            if column != target and total > 0:
                most = int(np.argmax(rows[label, block]))
                # Pairs are not projected to sum up, so bound the rest by the certain share of the second most common value.
                rest = np.delete(rows[label, block] - SURE * std[label, block], most)
                within[label, column] = max(0.0, float(rest.max(initial=0.0))) / total
    return within


def _combinations(targets: MomentTargets, layout: MomentLayout) -> float:
    """The certain number of distinct combinations among `DRAWS` draws, for the pair of columns that has the most.

    Where counts are by class, the label is part of a combination.
    """
    shares = np.where(targets.pairs > SURE * targets.pair_std, targets.pairs, 0.0)
    found = -np.expm1(-DRAWS * shares)
    starts = [block.start for block in layout.blocks]
    sums = np.add.reduceat(np.add.reduceat(found, starts, axis=1), starts, axis=2).sum(axis=0)
    return float(sums.max())
