"""Shrinkage of residuals: little noise is kept, dependence is kept, and the error falls below that of one factor per table."""

import numpy as np
import pytest

from models.tables.estimation import shrinkage
from models.tables.estimation.shrinkage import kept

STD = 1e-3
SHAPES = ((3, 3), (5, 8), (12, 24))


def expected_of(rows: int, columns: int) -> np.ndarray:
    """Shares of two independent columns whose codes fall off as one over their rank."""
    first, second = 1.0 / np.arange(1, rows + 1), 1.0 / np.arange(1, columns + 1)
    return np.outer(first / first.sum(), second / second.sum())


def centred(table: np.ndarray) -> np.ndarray:
    table = table - table.mean(axis=0)
    return table - table.mean(axis=1, keepdims=True)


def left_of(rows: int, columns: int) -> float:
    return (1 - 1 / rows) * (1 - 1 / columns)


@pytest.mark.parametrize("shape", SHAPES)
def test_little_of_noise_alone_is_kept(shape: tuple[int, int]) -> None:
    """Of the energy of 200 tables with a fixed key, 2 to 10 hundredths."""
    rng, left, noise = np.random.default_rng(0), 0.0, 0.0
    for _ in range(200):
        residual = centred(rng.normal(0.0, STD, shape))
        factors = kept(residual, expected_of(*shape), variance=STD**2, left=left_of(*shape))
        left += float(((factors * residual) ** 2).sum())
        noise += float((residual**2).sum())
    assert left < 0.15 * noise


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_large_cells_gain_over_one_factor_for_all(shape: tuple[int, int]) -> None:
    """Differences in proportion to the expected share, as of ratios to independence: the error is below James and Stein's."""
    rng, expected, left = np.random.default_rng(1), expected_of(*shape), left_of(*shape)
    ours = one_factor = 0.0
    for _ in range(200):
        truth = centred(expected * rng.normal(0.0, 0.2, shape))
        residual = truth + centred(rng.normal(0.0, 2 * STD, shape))
        energy, noise = (residual**2).sum(), 4 * STD**2 * left * residual.size
        ours += ((residual * kept(residual, expected, variance=4 * STD**2, left=left) - truth) ** 2).sum()
        one_factor += ((residual * max(1 - noise / energy, 0.0) - truth) ** 2).sum()
    assert ours < one_factor


def test_what_noise_cannot_explain_is_kept() -> None:
    expected = expected_of(4, 6)
    residual = centred(np.arange(24).reshape(4, 6) % 5 * 0.01)
    factors = kept(residual, expected, variance=1e-16, left=left_of(4, 6))
    assert np.abs(residual * (factors - 1)).max() < 1e-7


def test_a_cell_that_expects_nothing_or_is_known_keeps_nothing() -> None:
    expected, left = expected_of(5, 8), np.full((5, 8), left_of(5, 8))
    expected[0, 0], expected[0, 1], left[1, 1] = 0.0, 1e-300, 0.0
    factors = kept(np.full((5, 8), 0.1), expected, variance=STD**2, left=left)
    assert factors[0, 0] == factors[0, 1] == factors[1, 1] == 0
    assert np.delete(factors.ravel(), [0, 1, 9]).min() > 0.5


def test_tables_without_free_cells_keep_nothing() -> None:
    """One code in a column, or one class that has all records."""
    assert not kept(np.zeros((1, 4)), expected_of(1, 4), variance=STD**2, left=left_of(1, 4)).any()
    assert not kept(np.zeros((2, 3)), expected_of(2, 3), variance=0.0, left=left_of(2, 3)).any()


def test_large_tables_are_shrunk_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights then come from a part of the cells; what follows from them changes little."""
    rng, expected = np.random.default_rng(2), expected_of(40, 50)
    truth = centred(expected * rng.normal(0.0, 0.5, expected.shape))
    residual = truth + centred(rng.normal(0.0, STD / 10, expected.shape))
    asked = {"variance": STD**2 / 100, "left": left_of(40, 50)}
    whole = kept(residual, expected, **asked)
    # private: a real table reaches the limit with thousands of codes
    monkeypatch.setattr(shrinkage, "_MOST_CELLS", 300)
    parts = kept(residual, expected, **asked)
    assert np.abs((parts - whole) * residual).sum() < 0.05 * np.abs(residual).sum()
