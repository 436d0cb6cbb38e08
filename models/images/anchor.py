"""The moment anchor of images: the only code that reads private images, and the noise on its results.

The releases, in order, are Gaussian mechanisms on all units: count and sum of brightness; class counts and pixel sums; second moments of the low-frequency residuals after
subtracting the noisy class mean; rounds of counts and sums of every class's cells (noisy k-means); counts, means and second moments of every
cell in the noisy basis. All steps between are post-processing (`models/images/basis.py`, `first_centres`, `moved_centres`).

Sensitivity under adding or removing one unit. Each of a unit's `m` records has weight one `m`-th, so by convexity of the norm the unit changes a
release at most as much as one record alone. A record has one class and one cell, so its contribution lies in one row or matrix. A weighted count
`w` with a sum of vectors of norm at most `C`: `hypot(w, C)`. A matrix `u u^T`, released as its upper triangle with off-diagonal numbers
weighted by `sqrt(2)`: the Frobenius norm `|u|^2`. Squared distances cut at `R` and weighted to at most `t |u|^2`, released with it:
`|u|^2 hypot(1, t)`. Norms are clipped with every rounding downwards; sums are integers on the public grid, exact in any order; noise is rounded
to the same grid (docs/mechanisms/image-anchor.md).
"""

import math

import numpy as np
import torch

from core.plan.images.anchor import (
    BRIGHTNESS_REACH,
    COUNT_WEIGHT,
    MOMENT_COUNT_WEIGHT,
    SPREAD_WEIGHT,
    ImageAnchorPlan,
)
from models.dp.count_noise import without_low_bits
from models.encoding import PrivateImages
from models.images.basis import class_centres, directions, origin_about, variances
from models.images.exact import RESIDUAL_BITS, Floats, nearest
from models.images.moments import ImageMoments, SecondMoments, Sums
from models.images.sums import GRID, ImageSums, pixel_steps
from models.randomness import KeyedStreams, Purpose

_MADE = 4000
_ITERATIONS = 15
_FEWEST = 0.1
"""A cell moves only if its noisy count is at least this share of an even one."""


def noisy_image_moments(images: PrivateImages, plan: ImageAnchorPlan, streams: KeyedStreams) -> ImageMoments:
    """Make all releases of the plan, each depending on the earlier ones."""
    private = ImageSums(images, plan)
    origin = plan.origin if plan.origin is not None else _release_origin(private, plan, streams)
    means = _release_sums(
        private.mean_sums(origin),
        (Purpose.IMAGE_MEANS_NOISE, 0),
        streams,
        norm=plan.image_norm,
        std=plan.means_noise_multiplier * plan.means_sensitivity,
        grid=GRID / pixel_steps(plan),
        origin=origin,
    )
    private.centre(class_centres(means, plan, images.shape))
    basis = _release_products(
        private.basis_sums(),
        np.zeros(0),
        Purpose.IMAGE_BASIS_NOISE,
        streams,
        bound=plan.residual_norm**2,
        std=plan.basis_noise_multiplier * plan.basis_sensitivity,
    )
    private.project(directions(basis, means, plan))
    centres = first_centres(basis, means, plan, streams)
    for number in range(plan.rounds):
        sums = _release_sums(
            private.cell_sums(centres),
            (Purpose.IMAGE_CELLS_NOISE, number),
            streams,
            norm=plan.residual_norm,
            std=plan.cells_noise_multiplier * plan.cells_sensitivity,
            grid=GRID,
        )
        centres = moved_centres(centres, sums)
    moments = _release_products(
        *private.moment_sums(centres),
        Purpose.IMAGE_MOMENTS_NOISE,
        streams,
        bound=(1.0 + MOMENT_COUNT_WEIGHT**2) * plan.cell_norm**2,
        std=plan.moments_noise_multiplier * plan.moments_sensitivity,
    )
    return ImageMoments(means=means, basis=basis, centres=centres, moments=moments)


def _release_origin(private: ImageSums, plan: ImageAnchorPlan, streams: KeyedStreams) -> float:
    """Release the images' brightness, and return what follows from it: the value that the class means subtract."""
    assert plan.brightness_noise_multiplier is not None, "the plan fixes the origin"
    std = plan.brightness_noise_multiplier * plan.brightness_sensitivity
    noisy = _release_sums(
        private.brightness_sums(),
        (Purpose.IMAGE_BRIGHTNESS_NOISE, 0),
        streams,
        norm=BRIGHTNESS_REACH,
        std=std,
        grid=GRID,
    )
    return origin_about(noisy, count_std=std / (COUNT_WEIGHT * BRIGHTNESS_REACH))


def _release_sums(
    exact: tuple[Floats, Floats],
    address: tuple[Purpose, int],
    streams: KeyedStreams,
    *,
    norm: float,
    std: float,
    grid: float,
    origin: float = 0.0,
) -> Sums:
    """Add noise to counts, weighted by `COUNT_WEIGHT * norm`, and to sums of vectors of norm at most `norm`."""
    counts, sums = exact
    weight = COUNT_WEIGHT * norm
    parts = ((counts, std / weight), (sums, std))
    streams.releases.exact(
        *address,
        ((torch.from_numpy(values), noise) for values, noise in parts),
        sensitivity=math.hypot(norm, weight) / std,
    )
    drawn = np.split(streams.normals(*address, counts.size + sums.size), [counts.size])
    noisy = Sums(
        counts=without_low_bits(
            _in_steps(counts, drawn[0].reshape(counts.shape) * (std / weight), GRID), std / weight
        ),
        sums=without_low_bits(_in_steps(sums, drawn[1].reshape(sums.shape) * std, grid), std),
        origin=origin,
    )
    streams.releases.noisy(*address, torch.from_numpy(noisy.counts), torch.from_numpy(noisy.sums))
    return noisy


def _release_products(
    products: Floats, spread: Floats, purpose: Purpose, streams: KeyedStreams, *, bound: float, std: float
) -> SecondMoments:
    """Add noise to the upper triangles of sums of `u u^T`, `|u|^2 <= bound`, and to a spread weighted by `SPREAD_WEIGHT bound`.

    A diagonal number gets noise of `std`; one above the diagonal counts twice in the Frobenius norm and gets `std / sqrt(2)`.
    """
    rows, columns = np.triu_indices(products.shape[-1], 1)
    weight = SPREAD_WEIGHT * bound if spread.size else 0.0
    diagonal = np.diagonal(products, axis1=-2, axis2=-1)
    parts = [(diagonal, std), (products[..., rows, columns], std / math.sqrt(2.0))]
    if spread.size:
        parts.append((spread, std / weight))
    streams.releases.exact(
        purpose,
        0,
        ((torch.from_numpy(np.ascontiguousarray(values)), noise) for values, noise in parts),
        sensitivity=math.hypot(bound, weight) / std,
    )
    sizes = [values.size for values, _ in parts]
    drawn = np.split(streams.normals(purpose, 0, sum(sizes)), np.cumsum(sizes)[:-1])
    noisy = [
        without_low_bits(_in_steps(values, normals.reshape(values.shape) * noise, GRID), noise)
        for (values, noise), normals in zip(parts, drawn, strict=True)
    ]
    streams.releases.noisy(purpose, 0, *(torch.from_numpy(values) for values in noisy))
    released = np.zeros_like(products)
    released[..., rows, columns] = noisy[1]
    released += np.swapaxes(released, -2, -1)
    index = np.arange(products.shape[-1])
    released[..., index, index] = noisy[0]
    return SecondMoments(products=released, spread=noisy[2] if spread.size else spread)


def _in_steps(exact: Floats, noise: Floats, grid: float) -> Floats:
    """Values on a grid plus noise rounded to the grid, added as whole steps.

    Steps of sums of pixels are no power of two, so values in records are rounded. The last bits of a sum of two such values would reveal its
    summands despite the noise; one product with the sum of the steps reveals only that sum.
    """
    made: Floats = (np.rint(exact / grid) + np.rint(noise / grid)) * grid
    return made


def first_centres(basis: SecondMoments, means: Sums, plan: ImageAnchorPlan, streams: KeyedStreams) -> Floats:
    """Initial centres, equal for all classes: k-means of draws from the noisy Gaussian of all residuals.

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
    """One step of k-means with noisy counts and sums; an almost empty cell does not move."""
    even = np.maximum(cells.counts.sum(axis=1, keepdims=True), 1.0) / centres.shape[1]
    moved = np.rint(cells.sums / np.maximum(cells.counts, 1.0)[..., None] * 2.0**RESIDUAL_BITS)
    moved = np.clip(moved, -(2.0**20), 2.0**20)
    return np.where((cells.counts >= _FEWEST * even)[..., None], moved, centres)
