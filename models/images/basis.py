"""Class means, directions and their variances, from the noisy means and the noisy basis release. Free of privacy cost."""

import numpy as np
from scipy import fft

from core.plan.images.anchor import COUNT_WEIGHT, DARK, ImageAnchorPlan
from models.images.exact import COSINE_BITS, RESIDUAL_BITS, Floats, cosines
from models.images.moments import SecondMoments, Sums

_FEWEST_STDS = 4.0
"""Lower bound on a class count, in standard deviations of its noise."""


def origin_of(means: Sums, plan: ImageAnchorPlan) -> float:
    """The value that was subtracted from every pixel before images were summed: the plan's, or what followed from a release."""
    return means.origin if plan.origin is None else plan.origin


def origin_about(brightness: Sums, *, count_std: float) -> float:
    """Origin that images are summed about: their noisy mean brightness, a multiple of 1/255, or black if that is dark.

    Args:
        brightness: count (1,) and sum (1, 1) of brightness less 1/2.
        count_std: standard deviation of the count's noise.
    """
    count = max(float(brightness.counts[0]), _FEWEST_STDS * count_std, 1.0)
    mean = min(max(0.5 + float(brightness.sums[0, 0]) / count, 0.0), 1.0)
    return 0.0 if mean < DARK else float(np.rint(255.0 * mean) / 255.0)


def class_sizes(means: Sums, plan: ImageAnchorPlan) -> Floats:
    """Records of every class, positive and at least the noise floor; shape (classes,)."""
    std = plan.means_noise_multiplier * plan.means_sensitivity / (COUNT_WEIGHT * plan.image_norm)
    return np.maximum(means.counts, max(_FEWEST_STDS * std, 1.0))


def class_means(means: Sums, plan: ImageAnchorPlan, shape: tuple[int, int, int]) -> Floats:
    """Mean images in [0, 1]; (classes, height, width, channels).

    The noise is white and images are smooth: every frequency ring of a mean is multiplied by its share of energy without noise (a Wiener filter
    with the energy estimated from the ring itself).
    """
    height, width, channels = shape
    sizes = class_sizes(means, plan)[:, None, None, None]
    noise = (plan.means_noise_multiplier * plan.means_sensitivity / sizes) ** 2
    waves = fft.dctn(means.sums.reshape(-1, height, width, channels) / sizes, axes=(1, 2), norm="ortho")
    ring = np.maximum(np.arange(height)[:, None], np.arange(width)[None, :])
    gains = np.empty_like(waves)
    for number in range(max(height, width)):
        chosen = ring == number
        energy = (waves[:, chosen, :] ** 2).mean(axis=1, keepdims=True)
        gains[:, chosen, :] = np.maximum(1.0 - noise[:, :, 0] / np.maximum(energy, 1e-12), 0.0)
    images = origin_of(means, plan) + fft.idctn(waves * gains, axes=(1, 2), norm="ortho")
    made: Floats = np.clip(images, 0.0, 1.0)
    return made


def class_centres(means: Sums, plan: ImageAnchorPlan, shape: tuple[int, int, int]) -> Floats:
    """Low frequencies of the mean images, integers times 2^12; (classes, channels * frequencies^2)."""
    height, width, _ = shape
    down, right = cosines(height, plan.frequencies), cosines(width, plan.frequencies)
    images = class_means(means, plan, shape)
    waves = np.einsum("ih,jw,khwc->kcij", down, right, images, optimize=True)
    made: Floats = np.rint(waves.reshape(len(images), -1) * 2.0 ** (RESIDUAL_BITS - 2 * COSINE_BITS))
    return made


def _spectrum(basis: SecondMoments, means: Sums, plan: ImageAnchorPlan) -> tuple[Floats, Floats]:
    """Eigenvalues per record, decreasing, and their vectors (features, features)."""
    values, vectors = np.linalg.eigh(basis.products / class_sizes(means, plan).sum())
    return values[::-1], vectors[:, ::-1]


def directions(basis: SecondMoments, means: Sums, plan: ImageAnchorPlan) -> Floats:
    """Leading directions of the noisy second moments, integers times 2^14; (features, dimensions)."""
    return np.rint(_spectrum(basis, means, plan)[1][:, : plan.dimensions] * 2.0**COSINE_BITS)


def variances(basis: SecondMoments, means: Sums, plan: ImageAnchorPlan) -> Floats:
    """Variance along every low-frequency direction without the contribution of noise, not negative; (features,).

    Noise of spectral radius `e` lifts an eigenvalue `t` of the exact matrix to `t + e^2 / (4 t)` (Benaych-Georges and
    Nadakuditi, "The eigenvalues and eigenvectors of finite, low rank perturbations of large random matrices", 2011).
    Below that, eigenvectors are noise, and directions share the rest of the trace evenly.
    """
    values, _ = _spectrum(basis, means, plan)
    std = plan.basis_noise_multiplier * plan.basis_sensitivity / class_sizes(means, plan).sum()
    edge = std * np.sqrt(2.0 * len(values))
    seen = values > edge
    lifted = (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2.0
    rest = max(float(values.sum() - lifted[seen].sum()), 0.0) / max(int((~seen).sum()), 1)
    smallest = lifted[seen].min() if seen.any() else np.inf
    return np.where(seen, lifted, min(rest, smallest))


def ring_energies(basis: SecondMoments, means: Sums, plan: ImageAnchorPlan) -> Floats:
    """Mean squares of the residuals in every low-frequency ring, (frequencies,); noise leaves them unbiased."""
    squares = np.diagonal(basis.products).reshape(-1, plan.frequencies, plan.frequencies)
    ring = np.maximum(np.arange(plan.frequencies)[:, None], np.arange(plan.frequencies)[None, :])
    sums = np.array([squares[:, ring == number].mean() for number in range(plan.frequencies)])
    made: Floats = sums / class_sizes(means, plan).sum()
    return made


def pixel_basis(
    basis: SecondMoments, means: Sums, plan: ImageAnchorPlan, shape: tuple[int, int, int], *, last: int
) -> Floats:
    """The first `last` directions as images; (channels * height * width, last) in the order channel, height, width."""
    height, width, channels = shape
    frequencies = plan.frequencies
    down, right = cosines(height, frequencies), cosines(width, frequencies)
    vectors = np.rint(_spectrum(basis, means, plan)[1][:, :last] * 2.0**COSINE_BITS)
    waves = vectors.reshape(channels, frequencies, frequencies, -1)
    images = np.einsum("ih,jw,cijd->chwd", down, right, waves, optimize=True)
    made: Floats = images.reshape(channels * height * width, -1) * 2.0 ** (-3 * COSINE_BITS)
    return made
