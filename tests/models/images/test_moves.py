import numpy as np
import pytest

from models.images.moves import MOVES, moves_of, tangents


def blob(x: float, y: float, slant: float = 0.0) -> np.ndarray:
    """A smooth bright spot at (x, y) in half sides from the middle; (1, 24, 30)."""
    across = (2 * np.arange(30) + 1) / 30 - 1
    below = ((2 * np.arange(24) + 1) / 24 - 1)[:, None]
    return np.exp(-((across - x - slant * below) ** 2) / 0.06 - (below - y) ** 2 / 0.15)[None]


@pytest.mark.parametrize(
    ("number", "moved"),
    [(4, blob(-0.01, 0.0)), (5, blob(0.0, -0.01)), (1, blob(0.0, 0.0, slant=-0.01))],
)
def test_tangents_are_the_derivatives_of_a_moved_picture(number, moved):
    change = (moved - blob(0.0, 0.0)).ravel() / 0.01
    along = tangents(blob(0.0, 0.0))[:, number]
    assert np.linalg.norm(change - along) < 0.1 * np.linalg.norm(along)


def distribution_of(pictures: np.ndarray, share: float) -> np.ndarray:
    flat = pictures.reshape(len(pictures), -1)
    basis = np.linalg.svd((flat - flat.mean(axis=0))[:100], full_matrices=False)[2][:8].T
    covariance = np.cov((flat @ basis).T)
    factor = moves_of(covariance, basis, tangents(flat.mean(axis=0).reshape(1, 24, 30)), share=share)
    assert np.allclose(factor, np.tril(factor))
    return factor @ factor.T


def test_pictures_that_differ_by_shifts_are_moved_by_shifts():
    rng = np.random.default_rng(0)
    shifts = rng.normal(0.0, [0.05, 0.02], (400, 2))
    distribution = distribution_of(np.stack([blob(x, y) for x, y in shifts]), share=1.0)
    assert distribution.shape == (MOVES, MOVES)
    assert np.sqrt(distribution[4, 4]) == pytest.approx(0.05, rel=0.2)
    assert np.sqrt(distribution[5, 5]) == pytest.approx(0.02, rel=0.2)
    assert np.sqrt(distribution.diagonal()[:4]).max() < 0.03


def test_a_share_is_of_the_variance_and_aligned_pictures_hardly_move():
    rng = np.random.default_rng(0)
    shifted = np.stack([blob(x, 0.0) for x in rng.normal(0.0, 0.05, 300)])
    assert np.allclose(
        distribution_of(shifted, share=0.5)[4, 4], 0.5 * distribution_of(shifted, share=1.0)[4, 4]
    )
    aligned = blob(0.0, 0.0)[None] * rng.normal(1.0, 0.2, (300, 1, 1, 1))
    assert np.sqrt(distribution_of(aligned, share=1.0)[4, 4]) < 0.005


def test_a_flat_picture_gives_no_moves_and_huge_variances_bounded_ones():
    flat = moves_of(np.eye(5), np.eye(9, 5), np.zeros((9, MOVES)))
    assert np.abs(flat).max() < 1e-3
    wild = moves_of(1e6 * np.eye(6), np.eye(6), np.eye(6))
    assert np.linalg.eigvalsh(wild @ wild.T).max() <= 0.4**2 + 1e-9
