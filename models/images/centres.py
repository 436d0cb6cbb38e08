"""Centres of the cells of every class: k-means, first on generated numbers, then by noisy sums."""

import numpy as np

from core.plan.image_anchor import ImageAnchorPlan
from models.images.basis import variances
from models.images.exact import RESIDUAL_BITS, Floats, nearest
from models.images.moments import SecondMoments, Sums
from models.randomness import KeyedStreams, Purpose

_MADE = 4000
_ITERATIONS = 15
_FEWEST = 0.1
"""A cell moves only where its noisy count is at least this share of an even one."""


def first_centres(basis: SecondMoments, means: Sums, plan: ImageAnchorPlan, streams: KeyedStreams) -> Floats:
    """The same for all classes: k-means of numbers drawn from the noisy Gaussian of all residuals.

    Returns:
        (classes, cells, dimensions) integers times 2^12.
    """
    shape = (len(means.counts), plan.cells, plan.dimensions)
    if plan.cells == 1:
        return np.zeros(shape)
    made = streams.normals(Purpose.IMAGE_CELLS_START, 0, (_MADE, plan.dimensions))
    made = np.rint(made * np.sqrt(variances(basis, means, plan)[: plan.dimensions]) * 2.0**RESIDUAL_BITS)
    centres = made[: plan.cells].copy()
    for _ in range(_ITERATIONS):
        cell = nearest(made, centres)
        for number in range(plan.cells):
            if (cell == number).any():
                centres[number] = np.rint(made[cell == number].mean(axis=0))
    return np.broadcast_to(centres, shape).copy()


def moved_centres(centres: Floats, cells: Sums) -> Floats:
    """One step of k-means by noisy counts and sums; an almost empty cell does not move."""
    even = np.maximum(cells.counts.sum(axis=1, keepdims=True), 1.0) / centres.shape[1]
    moved = np.rint(cells.sums / np.maximum(cells.counts, 1.0)[..., None] * 2.0**RESIDUAL_BITS)
    moved = np.clip(moved, -(2.0**20), 2.0**20)
    return np.where((cells.counts >= _FEWEST * even)[..., None], moved, centres)
