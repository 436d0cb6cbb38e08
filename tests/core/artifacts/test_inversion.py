"""Drawing by inversion: the distribution of every column is the softmax of its logits, whatever their size."""

import numpy as np
import pytest
from scipy import stats

from core.artifacts.sampling.inversion import SAFE_LOGIT, draw_codes, invert, standard_normals

ROWS = 200_000
DISTRIBUTION = np.array([0.05, 0.5, 0.0, 0.2, 0.25])
# Five and a half standard deviations: a false alarm in about 2 of 1e8 comparisons.
DEVIATIONS = 5.5


def logits_of(distribution: np.ndarray, rows: int = ROWS) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.tile(np.log(distribution).astype(np.float32)[:, None], (1, rows))


def follows(codes: np.ndarray, distribution: np.ndarray) -> bool:
    counts = np.bincount(codes, minlength=len(distribution))
    spread = np.sqrt(len(codes) * distribution * (1 - distribution))
    return len(counts) == len(distribution) and bool(
        (np.abs(counts - len(codes) * distribution) <= DEVIATIONS * spread).all()
    )


@pytest.mark.parametrize("shift", [0.0, 0.99 * SAFE_LOGIT, -0.99 * SAFE_LOGIT, 500.0, -500.0, 3e4])
def test_codes_follow_the_softmax_whatever_the_size_of_logits(shift: float) -> None:
    by_cell = np.concatenate([logits_of(DISTRIBUTION) + np.float32(shift), logits_of(np.array([0.3, 0.7]))])
    (codes,) = draw_codes(by_cell, (5, 2), np.random.default_rng(1))
    # A logit near 3e4 is known to 0.002.
    assert follows(codes[0], DISTRIBUTION) if shift < 1e4 else follows(codes[0][: ROWS // 20], DISTRIBUTION)
    assert follows(codes[1], np.array([0.3, 0.7]))


def test_rows_of_one_column_may_differ_in_size_by_any_factor() -> None:
    sizes = np.random.default_rng(2).uniform(-300, 300, ROWS).astype(np.float32)
    (codes,) = draw_codes(logits_of(DISTRIBUTION) + sizes, (5,), np.random.default_rng(3))
    assert follows(codes[0], DISTRIBUTION)


def test_several_draws_from_the_same_logits_are_independent() -> None:
    codes = draw_codes(logits_of(DISTRIBUTION), (5,), np.random.default_rng(4), draws=2)
    assert follows(codes[0, 0], DISTRIBUTION)
    assert follows(codes[1, 0], DISTRIBUTION)
    assert follows(codes[0, 0] * 5 + codes[1, 0], np.outer(DISTRIBUTION, DISTRIBUTION).ravel())


def test_columns_are_independent_and_a_given_one_is_left_alone() -> None:
    by_cell = np.concatenate(
        [logits_of(DISTRIBUTION), np.full((3, ROWS), 7.0, np.float32), logits_of(DISTRIBUTION)]
    )
    (codes,) = draw_codes(by_cell, (5, 3, 5), np.random.default_rng(5), given=1)
    assert follows(codes[0] * 5 + codes[2], np.outer(DISTRIBUTION, DISTRIBUTION).ravel())
    assert (by_cell[5:8] == 7.0).all()


@pytest.mark.parametrize("cells", [1, 127, 128, 129, 130, pytest.param(700, marks=pytest.mark.long)])
def test_a_column_may_have_many_codes(cells: int) -> None:
    distribution = np.full(cells, 1 / cells)
    (codes,) = draw_codes(logits_of(distribution), (cells,), np.random.default_rng(6))
    assert follows(codes[0], distribution)


def test_a_draw_never_leaves_its_block() -> None:
    almost_one = np.nextafter(np.float32(1), np.float32(0))
    sums, drawn = np.ones((3, 4), dtype=np.float32), np.empty(4, dtype=np.int16)
    invert(sums, np.array([0, 0.5, almost_one, almost_one], dtype=np.float32), drawn)
    assert drawn.tolist() == [0, 0, 0, 0]
    invert(np.cumsum(sums, axis=0), np.array([0, 0.5, almost_one, 1], dtype=np.float32), drawn)
    assert drawn.tolist() == [0, 1, 2, 2]


def test_normals_are_standard_normal_and_independent() -> None:
    normals = standard_normals(1_000_001, 2, np.random.default_rng(7))
    assert normals.shape == (1_000_001, 2)
    assert normals.dtype == np.float32
    for column in normals.T:
        assert stats.kstest(column, "norm").pvalue > 1e-7
    beyond = np.abs(normals) > 4.0
    assert stats.binomtest(int(beyond.sum()), beyond.size, 2 * stats.norm.sf(4.0)).pvalue > 1e-7
    # Cosine and sine of one angle stand half the array apart.
    flat = normals.ravel()[:2_000_000].astype(np.float64)
    first, second = flat[:1_000_000], flat[1_000_001:]
    for power in (1, 2):
        assert abs(np.corrcoef(first[:-1] ** power, second**power)[0, 1]) < 5.5e-3
    assert np.isfinite(normals).all()


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (1, 1), (3, 3), (5, 0)])
def test_normals_come_in_any_shape(rows: int, columns: int) -> None:
    assert standard_normals(rows, columns, np.random.default_rng(8)).shape == (rows, columns)
