"""Estimates of pairs of columns that were not counted: dependence along a tree of those that were. Post-processing, free of charge.

Where `a` depends on `b` and `b` on `c`, `a` depends on `c` too, though the pair was not counted or its noise hides that. The counted pairs
of most mutual information make a tree (Chow and Liu 1968); along its paths columns are taken for a Markov chain, so a pair that the tree
does not hold has an implied distribution. The tree is not true of real columns. From independence a counted pair takes as much of the step to the
implied distribution, or of several such steps, as its own noisy counts speak for, and its shrinkage begins there
(`models.tables.estimation.shrunk_pairs`). The counts that the tree was made of have noise of their own, so the pair is not compared with itself.
Pairs that were not counted take the part, at most all, that is nearest to all counted pairs together; none where only pairs with the target were
counted, which say nothing about it.

By class of the target a distribution is that within each class, and the tree is one for all classes.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from models.simplex import scaled_to_margins
from models.tables.anchor import MomentLayout

Floats = npt.NDArray[np.float64]
Blocks = tuple[int, int]
"""Two places among the layout's blocks, the larger first."""

LEAST_INFORMATION: Final = 1e-4
"""Mutual information, in nats, from which a pair may be in the tree: shrinkage leaves that much of noise."""
LEAST_STEP: Final = 1e-4
"""Sum of the absolute differences of an implied distribution from independence below which it is taken for independent."""
MOST_PART: Final = 3.0
"""How much more than one path may tie two columns: those that one hidden cause drives depend on each other more than a path of noisy columns
implies."""
_SCALINGS: Final = 10
_SMALLEST: Final = 1e-15


def implied_distributions(
    noisy: Floats, shrunk: Floats, ones: Floats, distribution: Floats, pair_std: Floats, layout: MomentLayout
) -> dict[Blocks, Floats]:
    """The distribution from which shrinkage begins, of each pair of columns that the tree joins by more than one step.

    Args:
        noisy: (slices, cells, cells) noisy shares of all pairs.
        shrunk: (slices, cells, cells) the same, shrunk towards independence within the slice.
        ones: (slices, cells) shares of the groups.
        distribution: (slices,) shares of the slices.
        pair_std: (cells, cells) standard deviations of the noise.

    Returns:
        By two blocks, (slices, rows, columns) shares.
    """
    steps = dict(_steps(shrunk, ones, distribution, layout))
    found: dict[Blocks, tuple[float, float]] = {}
    for (i, j), step in steps.items():
        block, other = layout.blocks[i], layout.blocks[j]
        if layout.counted[block.start, other.start]:
            free = centred(step)
            residual = centred(noisy[:, block, other] - independent(ones, distribution, block, other))
            variance = pair_std[block.start, other.start] ** 2
            found[i, j] = float((free * residual).sum()) / variance, float(np.square(free).sum()) / variance
    along, length = (math.fsum(sums[one] for sums in found.values()) for one in (0, 1))
    of_all = 0.0 if layout.pairs == () else min(_part(along, length), 1.0)
    made = {}
    for (i, j), step in steps.items():
        part = _part(*found[i, j]) if (i, j) in found else of_all
        if part > 0:
            block, other = layout.blocks[i], layout.blocks[j]
            made[i, j] = np.maximum(independent(ones, distribution, block, other) + part * step, 0.0)
    return made


def centred(tables: Floats) -> Floats:
    """Subtract the means of rows and columns from every table; (slices, rows, columns)."""
    made: Floats = tables - tables.mean(axis=1, keepdims=True)
    made -= made.mean(axis=2, keepdims=True)
    return made


def _part(along: float, length: float) -> float:
    """Posterior mean of a pair's part, with a normal prior of mean one and variance one; from zero to `MOST_PART`.

    Args:
        along: inner product of the step and the residual, over the variance of the noise.
        length: of the step with itself, likewise.
    """
    return min(max((along + 1.0) / (length + 1.0), 0.0), MOST_PART)


def independent(ones: Floats, distribution: Floats, block: slice, other: slice) -> Floats:
    """Shares of a pair that is independent within the slice."""
    made: Floats = ones[:, block, None] * ones[:, None, other] / distribution[:, None, None]
    return made


def _steps(
    shrunk: Floats, ones: Floats, distribution: Floats, layout: MomentLayout
) -> Iterator[tuple[Blocks, Floats]]:
    """Differences of the implied distribution from independence, of every pair that the tree joins by more than one step."""
    blocks = layout.blocks
    given: dict[Blocks, Floats] = {}
    near: dict[int, list[int]] = {place: [] for place in range(len(blocks))}
    for i, j in _tree(shrunk, ones, distribution, layout):
        shares = scaled_to_margins(
            shrunk[:, blocks[i], blocks[j]] + 1e-12,
            ones[:, blocks[i]],
            ones[:, blocks[j]],
            scalings=_SCALINGS,
        )
        given[i, j] = shares / np.maximum(ones[:, blocks[i], None], _SMALLEST)
        given[j, i] = shares.transpose(0, 2, 1) / np.maximum(ones[:, blocks[j], None], _SMALLEST)
        near[i].append(j)
        near[j].append(i)
    for first, block in enumerate(blocks):
        start = ones[:, block, None] * np.eye(block.stop - block.start)
        waiting = [(first, first, start)]
        while waiting:
            place, before, shares = waiting.pop()
            for following in near[place]:
                if following == before:
                    continue
                reached = shares @ given[place, following]
                step = reached - independent(ones, distribution, block, blocks[following])
                if np.abs(step).sum() < LEAST_STEP:
                    continue  # further along the path dependence is weaker still
                waiting.append((following, place, reached))
                if place != first and following < first:
                    yield (first, following), step


def _tree(shrunk: Floats, ones: Floats, distribution: Floats, layout: MomentLayout) -> list[Blocks]:
    """The counted pairs of a forest of most mutual information (Kruskal 1956)."""
    blocks = layout.blocks
    information: dict[Blocks, float] = {}
    for i, block in enumerate(blocks):
        for j, other in enumerate(blocks[:i]):
            if layout.counted[block.start, other.start]:
                product = independent(ones, distribution, block, other)
                information[i, j] = _information(shrunk[:, block, other], product)
    root = list(range(len(blocks)))
    chosen = []
    for i, j in _strongest_first(information):
        if root[i] != root[j]:
            joined, kept = root[i], root[j]
            root = [kept if one == joined else one for one in root]
            chosen.append((i, j))
    return chosen


def _strongest_first(information: Mapping[Blocks, float]) -> list[Blocks]:
    worth = [pair for pair, nats in information.items() if nats > LEAST_INFORMATION]
    return sorted(worth, key=lambda pair: (-information[pair], pair))


def _information(shares: Floats, product: Floats) -> float:
    """Mutual information within the slices, in nats."""
    scaled = shares * (product.sum() / max(float(shares.sum()), _SMALLEST))
    ratio = np.maximum(scaled, _SMALLEST) / np.maximum(product, _SMALLEST)
    return float((scaled * np.log(ratio)).sum())
