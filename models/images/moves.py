"""Small linear maps and shifts of generated images, scaled by the noisy covariances. Free of privacy cost.

To first order a moved picture is the picture plus a combination of six tangent images. The variance of a cell's covariance along these tangents
shows how much its pictures differ by such moves: much for handwriting, little for aligned pictures. A Gaussian produces such differences by
blurring; moving the picture keeps it sharp and goes beyond first order. Moves are added to the Gaussian: removing their variance from it made
classifiers worse (MNIST, epsilon 4 and 10: 0.6 points).
"""

import numpy as np

from models.images.exact import Floats

MOVES = 6
"""The four entries of the linear map minus the identity, row by row in the order x, y, and the shift; in half sides."""
MOVED_SHARE = 1.0
"""Share of the variance along the tangents that becomes moves."""
_RIDGE = 0.02
_LARGEST = 0.4
"""Largest standard deviation of a move."""


def tangents(picture: Floats) -> Floats:
    """Derivatives of a (channels, height, width) picture with respect to the six numbers; (channels * height * width, 6)."""
    _, height, width = picture.shape
    down = np.gradient(picture, axis=1) * (height / 2.0)
    right = np.gradient(picture, axis=2) * (width / 2.0)
    across = (2.0 * np.arange(width) + 1.0) / width - 1.0
    below = ((2.0 * np.arange(height) + 1.0) / height - 1.0)[:, None]
    images = [right * across, right * below, down * across, down * below, right, down]
    return np.stack([image.ravel() for image in images], axis=1)


def moves_of(covariance: Floats, basis: Floats, along: Floats, *, share: float = MOVED_SHARE) -> Floats:
    """The distribution of the moves of one cell.

    The regression of a picture's difference `B z` on the tangents has the covariance `P = G T' B S B' T G`, `G = (T' T + ridge)^-1`; moves get
    `share * P`.

    Args:
        covariance: (d, d) positive definite, of coordinates in the basis.
        basis: (pixels, d).
        along: (pixels, 6) tangents.
        share: share of the variance.

    Returns:
        The lower triangular factor of the moves' covariance (6, 6).
    """
    gram = along.T @ along
    inverse = np.linalg.inv(gram + np.eye(MOVES) * (_RIDGE * np.trace(gram) / MOVES + 1e-9))
    regression = inverse @ (along.T @ basis)
    values, vectors = np.linalg.eigh(share * (regression @ covariance @ regression.T))
    moved = (vectors * np.clip(values, 1e-8, _LARGEST**2)) @ vectors.T
    factor: Floats = np.linalg.cholesky((moved + moved.T) / 2.0)
    return factor
