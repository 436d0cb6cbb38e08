"""Small linear maps and shifts of a picture, in place of the part of a Gaussian that they explain. Free of charge.

To first order a moved picture is the picture plus a combination of six tangent images. The variance that a cell's
covariance has along these says how much its pictures differ by such moves: much for handwriting, little for pictures
that were aligned. That share is taken out of the Gaussian and made by really moving the picture, which stays sharp and
goes beyond first order.
"""

import numpy as np

from models.images.exact import Floats

MOVES = 6
"""Four numbers of the linear map less the identity, row by row in the order x, y, and the shift; in half sides."""
MOVED_SHARE = 0.7
"""Of the variance along the tangents, how much becomes moves."""
_RIDGE = 0.02
_LARGEST = 0.4
"""Largest standard deviation of a move."""


def tangents(picture: Floats) -> Floats:
    """Derivatives of a (channels, height, width) picture by the six numbers; (channels * height * width, 6)."""
    _, height, width = picture.shape
    down = np.gradient(picture, axis=1) * (height / 2.0)
    right = np.gradient(picture, axis=2) * (width / 2.0)
    across = (2.0 * np.arange(width) + 1.0) / width - 1.0
    below = ((2.0 * np.arange(height) + 1.0) / height - 1.0)[:, None]
    images = [right * across, right * below, down * across, down * below, right, down]
    return np.stack([image.ravel() for image in images], axis=1)


def split_moves(
    covariance: Floats, directions: Floats, *, share: float = MOVED_SHARE
) -> tuple[Floats, Floats]:
    """Take moves out of a covariance.

    The regression of `z` on the directions has the covariance `P = G T' S T G`, `G = (T' T + ridge)^-1`; moves get
    `share * P`, and what lies along the directions in `z` shrinks to `1 - share` of its variance.

    Args:
        covariance: (d, d) positive, of numbers in the basis.
        directions: (d, 6) tangents in the basis.
        share: of the variance.

    Returns:
        The covariance that is left (d, d), and the lower triangular factor of the moves' covariance (6, 6).
    """
    gram = directions.T @ directions
    inverse = np.linalg.inv(gram + np.eye(MOVES) * (_RIDGE * np.trace(gram) / MOVES + 1e-9))
    regression = inverse @ directions.T
    values, vectors = np.linalg.eigh(share * (regression @ covariance @ regression.T))
    moved = (vectors * np.clip(values, 1e-8, _LARGEST**2)) @ vectors.T
    left = np.eye(len(covariance)) - (1.0 - np.sqrt(1.0 - share)) * (directions @ regression)
    return left @ covariance @ left.T, np.linalg.cholesky((moved + moved.T) / 2.0)
