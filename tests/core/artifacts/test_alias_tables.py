"""Alias tables: the share of words that give a code is the code's probability."""

import numpy as np
import pytest

from core.artifacts.sampling.alias_tables import AliasTables

EVEN_WORDS = (np.arange(2**18, dtype=np.uint64) << np.uint64(14)).astype(np.uint32)
"""One word in each of as many intervals of equal length."""
CODES = [1, 2, 3, 16, 17, 40, 129]


def shares(tables: AliasTables, distribution: int, codes: int) -> np.ndarray:
    drawn = tables.draw(np.full(len(EVEN_WORDS), distribution, dtype=np.intp), EVEN_WORDS.copy())
    counts = np.bincount(drawn, minlength=codes)
    assert len(counts) == codes, "no code lies beyond the distribution"
    return counts / len(EVEN_WORDS)


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("spread", [0.01, 0.3, 100.0])
def test_words_give_codes_in_the_shares_of_the_distribution(codes: int, spread: float) -> None:
    distributions = np.random.default_rng(codes).dirichlet(np.full(codes, spread), size=5)
    (tables,) = AliasTables.of([distributions])
    for number, distribution in enumerate(distributions):
        # A cell's threshold lies inside an interval: at most one word of each of its cells goes astray.
        cells = 2**tables.bits
        assert np.abs(shares(tables, number, codes) - distribution).max() <= 2 * cells / len(EVEN_WORDS)


@pytest.mark.parametrize(
    "distribution", [[1.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 1e-9, 1 - 1e-9]]
)
def test_a_code_with_no_probability_is_never_drawn(distribution: list[float]) -> None:
    (tables,) = AliasTables.of([np.array([distribution])])
    assert (shares(tables, 0, len(distribution))[np.array(distribution) == 0] == 0).all()


def test_distributions_of_different_lengths_keep_their_order() -> None:
    distributions = [np.eye(codes)[::-1] for codes in (5, 2, 7, 5)]
    for tables, own in zip(AliasTables.of(distributions), distributions, strict=True):
        lines = np.arange(len(own))
        words = np.random.default_rng(1).integers(0, 2**32, len(own), dtype=np.uint32)
        assert tables.draw(lines, words).tolist() == own.argmax(axis=1).tolist()


def test_draws_follow_distributions_row_by_row() -> None:
    rng = np.random.default_rng(2)
    distributions = rng.dirichlet(np.full(11, 0.5), size=3)
    (tables,) = AliasTables.of([distributions])
    which = rng.integers(0, 3, 300_000)
    drawn = tables.draw(which, rng.integers(0, 2**32, len(which), dtype=np.uint32))
    for distribution in range(3):
        counts = np.bincount(drawn[which == distribution], minlength=11)
        expected = distributions[distribution] * counts.sum()
        assert (np.abs(counts - expected) < 5.5 * np.sqrt(expected) + 1).all()
