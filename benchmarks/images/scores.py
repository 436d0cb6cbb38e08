"""Scores of made images by formula alone: no training, no randomness but named directions, float64 throughout."""

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit

from benchmarks.images.networks import named_seed

Floats = npt.NDArray[np.float64]
DIRECTIONS = 500


def inception_score(probabilities: Floats) -> float:
    """`exp(E_x KL(p(y|x) || p(y)))` with `p(y) = E_x p(y|x)` (Salimans et al. 2016; the paper's equation 18).

    Between 1 (every image answered alike) and the number of classes (every answer certain, all classes equally often).

    Args:
        probabilities: (images, classes), rows that sum to one.
    """
    marginal = probabilities.mean(axis=0)
    safe = np.where(probabilities > 0.0, probabilities, 1.0)
    divergence = np.where(
        probabilities > 0.0,
        probabilities * (np.log(safe) - np.log(np.where(marginal > 0, marginal, 1.0))),
        0.0,
    )
    return float(np.exp(divergence.sum(axis=1).mean()))


def frechet_distance(first: Floats, second: Floats) -> float:
    """Squared Frechet distance of the normal distributions fitted to two sets of features (Heusel et al. 2017, there "FID").

    Biased upwards where there are few images for the number of features: compare only figures of equal numbers.

    Args:
        first: (images, features).
        second: (images, features).
    """
    return gaussian_distance(
        first.mean(axis=0), np.cov(first, rowvar=False), second.mean(axis=0), np.cov(second, rowvar=False)
    )


def gaussian_distance(
    mean: Floats, covariance: Floats, other_mean: Floats, other_covariance: Floats
) -> float:
    """`|m - n|^2 + tr A + tr B - 2 tr (A^(1/2) B A^(1/2))^(1/2)`: the squared 2-Wasserstein distance of two normal distributions.

    The last trace is the sum of the singular values of `A^(1/2) B^(1/2)`. Eigenvalues below the rounding of the largest
    count as zero: their roots would be 1e-8 instead, by a sign that depends on the processor's kernels.

    Args:
        mean: (features,) of the first distribution.
        covariance: (features, features) `A`.
        other_mean: (features,) of the second distribution.
        other_covariance: (features, features) `B`.
    """
    first, second = np.atleast_2d(covariance), np.atleast_2d(other_covariance)
    cross = np.linalg.svd(_root(first) @ _root(second), compute_uv=False).sum()
    distance = np.square(mean - other_mean).sum() + np.trace(first) + np.trace(second) - 2.0 * cross
    return max(0.0, float(distance))


def _root(matrix: Floats) -> Floats:
    """The symmetric root of a covariance, whose rank is judged as `numpy.linalg.matrix_rank` does."""
    values, vectors = np.linalg.eigh(matrix)
    kept = np.where(values > len(values) * np.finfo(np.float64).eps * values.max(), values, 0.0)
    root: Floats = (vectors * np.sqrt(kept)) @ vectors.T
    return root


def symmetrised_kl(log_odds: Floats) -> float:
    """The paper's "JS divergence" (its equation 19), which is not one: half of Jeffreys' symmetrised divergence.

    With `p` the discriminator's probability that an image is real and `B` the fair coin,

        E_x [ KL(p || B) / 2 + KL(B || p) / 2 ] = E_x [ (p - 1/2) log(p / (1 - p)) / 2 ] = E_x [ l tanh(l / 2) / 4 ]

    for log-odds `l`: zero where the discriminator is undecided, without bound where it is certain, so it measures its
    confidence as much as the images. The paper does not say on which images the mean is taken; ours is over synthetic
    ones that the discriminator has not seen.

    Args:
        log_odds: (images,) log of the odds that an image is real.
    """
    return float(np.mean(log_odds * np.tanh(log_odds / 2.0)) / 4.0)


def jensen_shannon_bound(real_log_odds: Floats, made_log_odds: Floats) -> float:
    """A lower bound on the true Jensen-Shannon divergence, in nats: between 0 (undecided) and log 2.

    `log 2 + E_real log p / 2 + E_made log(1 - p) / 2`, tight for the best discriminator (Goodfellow et al. 2014). On
    unseen images a bad discriminator may leave it negative, which is printed as it is.

    Args:
        real_log_odds: (images,) of real images.
        made_log_odds: (images,) of synthetic images.
    """
    real, made = log_expit(real_log_odds).mean(), log_expit(-made_log_odds).mean()
    return float(np.log(2.0) + (real + made) / 2.0)


def sliced_wasserstein(first: Floats, second: Floats, *, directions: int = DIRECTIONS) -> float:
    """Sliced 1-Wasserstein distance: the mean over fixed random directions of the distance of the projections.

    Unlike a critic's estimate (the paper's figure 3) it needs no training, is never negative and can be compared across
    methods. For two sets of `n` points that differ by a shift `c` it is `E|u . c|` over unit vectors `u`.

    Args:
        first: (points, coordinates).
        second: (points, coordinates), as many.
        directions: unit vectors, from one named seed.
    """
    if first.shape != second.shape:
        raise ValueError("the sliced distance compares sets of equal shape")
    rng = np.random.default_rng(named_seed("directions"))
    distances = []
    for _ in range(directions):
        direction = rng.standard_normal((first.shape[1],))
        direction = direction / np.linalg.norm(direction)
        distances.append(np.abs(np.sort(first @ direction) - np.sort(second @ direction)).mean())
    return float(np.mean(distances))
