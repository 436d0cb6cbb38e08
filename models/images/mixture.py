"""The distribution of images described by the noisy releases: a Gaussian mixture per class. Post-processing, free of privacy cost."""

from dataclasses import dataclass

import numpy as np

from core.plan.images.anchor import MOMENT_COUNT_WEIGHT, SPREAD_REACH, ImageAnchorPlan
from models.images.basis import class_means, class_sizes, pixel_basis, ring_energies, variances
from models.images.exact import RESIDUAL_BITS, Floats
from models.images.moments import ImageMoments
from models.images.moves import MOVES, moves_of, tangents
from models.images.texture import power_law_texture
from models.simplex import positive_distribution, project_to_simplex

TAIL = 96
"""Directions outside the basis with a variance but without covariances."""
_SMALLEST_VARIANCE = 1e-4
_SMALLEST_RATIO = 1e-3
_FEWEST_STDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixture:
    """A class and a cell drawn by their shares, then `mean + basis (centre + factor z, tail y)`, moved by `moves w`.

    `z`, `y` and `w` are standard normal. Pixels are in the order channel, height, width.

    Args:
        shape: height, width, channels.
        distribution: (classes,) class probabilities; one class for images without labels.
        means: (classes, pixels) in [0, 1].
        basis: (pixels, d + e), nearly orthonormal columns.
        weights: (classes, cells) shares of the cells in their class.
        centres: (classes, cells, d).
        factors: (classes, cells, d, d), lower triangular.
        tail: (e,) standard deviations along the last directions, the same for all classes.
        moves: (classes, cells, 6, 6), lower triangular; see `models/images/moves.py`.
        texture: (height, width) standard deviations of the texture by frequency; see `models/images/texture.py`.
    """

    shape: tuple[int, int, int]
    distribution: Floats
    means: Floats
    basis: Floats
    weights: Floats
    centres: Floats
    factors: Floats
    tail: Floats
    moves: Floats
    texture: Floats


def plain_mixture(shape: tuple[int, int, int], classes: int) -> Mixture:
    """The start of a generator without an anchor: one cell per class without any variation, all grey. Public constants.

    Args:
        shape: height, width, channels.
        classes: number of declared labels, 0 for images without labels.
    """
    distributions, pixels = max(classes, 1), int(np.prod(shape))
    return Mixture(
        shape=shape,
        distribution=np.full(distributions, 1.0 / distributions),
        means=np.full((distributions, pixels), 0.5),
        basis=np.zeros((pixels, 1)),
        weights=np.ones((distributions, 1)),
        centres=np.zeros((distributions, 1, 1)),
        factors=np.zeros((distributions, 1, 1, 1)),
        tail=np.zeros(0),
        moves=np.zeros((distributions, 1, MOVES, MOVES)),
        texture=np.zeros(shape[:2]),
    )


def mixture_of(moments: ImageMoments, plan: ImageAnchorPlan, shape: tuple[int, int, int]) -> Mixture:
    """Denoise the releases: shrink every cell covariance towards its class's, and every class covariance towards that of all residuals."""
    sizes = class_sizes(moments.means, plan)
    spectrum = variances(moments.basis, moments.means, plan)
    inside, last = plan.dimensions, min(len(spectrum), plan.dimensions + TAIL)
    overall = np.diag(np.maximum(spectrum[:inside], _SMALLEST_VARIANCE))
    images = class_means(moments.means, plan, shape).transpose(0, 3, 1, 2)
    basis = pixel_basis(moments.basis, moments.means, plan, shape, last=last)
    weights, centres, energies = [], [], []
    factors = np.empty((len(sizes), plan.cells, plan.dimensions, plan.dimensions))
    moves = np.empty((len(sizes), plan.cells, MOVES, MOVES))
    for index, size in enumerate(sizes):
        cells = _cells_of(moments, index, size, plan, overall)
        weights.append(positive_distribution(project_to_simplex(cells.shares, total=1.0)))
        centres.append(moments.centres[index] * 2.0**-RESIDUAL_BITS + cells.moved)
        energy = np.trace(cells.covariances, axis1=1, axis2=2) + (centres[-1] ** 2).sum(axis=1)
        energies.append(float(cells.shares @ energy))
        for number, covariance in enumerate(cells.covariances):
            middle = np.clip(
                images[index] + (basis[:, :inside] @ centres[-1][number]).reshape(images[index].shape),
                0.0,
                1.0,
            )
            moves[index, number] = moves_of(covariance, basis[:, :inside], tangents(middle))
            factors[index, number] = np.linalg.cholesky(positive(covariance))
    total = max(float(moments.means.counts.sum()), 1.0)
    distribution = positive_distribution(project_to_simplex(moments.means.counts, total=total) / total)
    # The basis release clips more than the moments, whose spread is restored: the tail lost as much energy as the basis did.
    lost = np.clip(
        float(distribution @ np.array(energies)) / max(float(spectrum[:inside].sum()), 1e-9), 1.0, 4.0
    )
    return Mixture(
        shape=shape,
        distribution=distribution,
        means=images.reshape(len(sizes), -1),
        basis=basis,
        weights=np.stack(weights),
        centres=np.stack(centres),
        factors=factors,
        tail=np.sqrt(spectrum[inside:last] * lost),
        moves=moves,
        texture=power_law_texture(ring_energies(moments.basis, moments.means, plan) * lost, *shape[:2]),
    )


def spread_within(mixture: Mixture) -> Floats:
    """Root mean squared distance of a class's pixels from their mean before clamping to [0, 1]; (classes,)."""
    shares = mixture.weights
    energy = (shares * ((mixture.factors**2).sum(axis=(2, 3)) + (mixture.centres**2).sum(axis=2))).sum(axis=1)
    middle = ((shares[:, :, None] * mixture.centres).sum(axis=1) ** 2).sum(axis=1)
    spread: Floats = np.sqrt((energy - middle + (mixture.tail**2).sum()) / mixture.means.shape[1])
    return spread


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cells:
    """The denoised cells of one class: shares, means minus centres, covariances."""

    shares: Floats
    moved: Floats
    covariances: Floats


def _cells_of(
    moments: ImageMoments, index: int, size: float, plan: ImageAnchorPlan, overall: Floats
) -> _Cells:
    std = plan.moments_noise_multiplier * plan.moments_sensitivity
    lead = MOMENT_COUNT_WEIGHT * plan.cell_norm
    products = moments.moments.products[index]
    fewest = max(_FEWEST_STDS * std / lead**2, 0.005 * size / plan.cells)
    counts = np.maximum(products[:, 0, 0] / lead**2, fewest)
    shares = counts / counts.sum()
    moved = products[:, 0, 1:] / (lead * counts[:, None])
    moved *= _kept(moved, std / (np.sqrt(2.0) * lead * counts))[:, None]
    seen = products[:, 1:, 1:] / counts[:, None, None] - moved[:, :, None] * moved[:, None, :]
    pooled = np.einsum("k,kij->ij", shares, seen)
    base = overall * max(np.trace(pooled) / np.trace(overall), 0.05)
    noise = std * np.sqrt(plan.cells) / counts.sum()
    pooled = positive(shrunk(pooled, base, noise))
    if plan.cells > 1:
        made = [positive(shrunk(each, pooled, std / count)) for each, count in zip(seen, counts, strict=True)]
    else:
        made = [pooled]
    covariances = np.stack(made)
    # Clipping shrinks distant records: restore the mean squared distance, which was released with the moments.
    reach = SPREAD_REACH * plan.cell_norm**2
    wanted = float(moments.moments.spread[index].sum()) * reach / float(counts.sum())
    have = float(shares @ (np.trace(covariances, axis1=1, axis2=2) + (moved**2).sum(axis=1)))
    return _Cells(
        shares=shares, moved=moved, covariances=covariances * np.clip(wanted / max(have, 1e-9), 1.0, 4.0)
    )


def _kept(moved: Floats, noise: Floats) -> Floats:
    """The share of every vector's energy without noise: the James-Stein factor; (cells,)."""
    energy = np.maximum((moved**2).sum(axis=1), 1e-12)
    kept: Floats = np.clip(1.0 - moved.shape[1] * noise**2 / energy, 0.0, 1.0)
    return kept


def shrunk(seen: Floats, base: Floats, noise: float) -> Floats:
    """A noisy covariance shrunk towards a base, entry by entry, as far as noise hides the difference.

    The difference at (i, j) has assumed variance `g b_ii b_jj`. All entries together give an estimate of `g` by weighted moments, and every entry
    keeps the share `g b_ii b_jj / (g b_ii b_jj + noise variance)` of the difference.

    Args:
        seen: (d, d) symmetric.
        base: (d, d), positive diagonal.
        noise: standard deviation of the noise on a diagonal entry; entries above it have less by sqrt(2).
    """
    scale = np.maximum(np.diag(base), 1e-6)
    signal = np.outer(scale, scale)
    variance = np.full(seen.shape, max(noise, 1e-9) ** 2 / 2.0)
    variance[np.diag_indices(len(seen))] *= 2.0
    difference = seen - base
    weight = signal / (variance + 0.1 * signal) ** 2
    excess = float((weight * (difference**2 - variance)).sum()) / float((weight * signal).sum())
    ratio = max(excess, _SMALLEST_RATIO)
    kept: Floats = base + difference * (ratio * signal / (ratio * signal + variance))
    return kept


def positive(covariance: Floats) -> Floats:
    """The covariance with every eigenvalue at least 1e-4."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    made: Floats = (vectors * np.maximum(values, _SMALLEST_VARIANCE)) @ vectors.T
    return (made + made.T) / 2.0
