"""Alias tables: the share of words that give a code is the code's probability."""

import numpy as np
import pytest

from core.artifacts.sampling.alias_tables import AliasTables

EVEN_WORDS = (np.arange(2**18, dtype=np.uint64) << np.uint64(14)).astype(np.uint32)
"""One word in each of as many intervals of equal length."""
CODES = [1, 2, 3, 16, 17, 40, 129]


def shares(tables: AliasTables, law: int, codes: int) -> np.ndarray:
    drawn = tables.draw(np.full(len(EVEN_WORDS), law, dtype=np.intp), EVEN_WORDS.copy())
    counts = np.bincount(drawn, minlength=codes)
    assert len(counts) == codes, "no code lies beyond the law"
    return counts / len(EVEN_WORDS)


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("spread", [0.01, 0.3, 100.0])
def test_words_give_codes_in_the_shares_of_the_law(codes: int, spread: float) -> None:
    laws = np.random.default_rng(codes).dirichlet(np.full(codes, spread), size=5)
    (tables,) = AliasTables.of([laws])
    for number, law in enumerate(laws):
        # A cell's threshold lies inside an interval: at most one word of each of its cells goes astray.
        cells = 2**tables.bits
        assert np.abs(shares(tables, number, codes) - law).max() <= 2 * cells / len(EVEN_WORDS)


@pytest.mark.parametrize("law", [[1.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 1e-9, 1 - 1e-9]])
def test_a_code_with_no_probability_is_never_drawn(law: list[float]) -> None:
    (tables,) = AliasTables.of([np.array([law])])
    assert (shares(tables, 0, len(law))[np.array(law) == 0] == 0).all()


def test_laws_of_different_lengths_keep_their_order() -> None:
    laws = [np.eye(codes)[::-1] for codes in (5, 2, 7, 5)]
    for tables, own in zip(AliasTables.of(laws), laws, strict=True):
        lines = np.arange(len(own))
        words = np.random.default_rng(1).integers(0, 2**32, len(own), dtype=np.uint32)
        assert tables.draw(lines, words).tolist() == own.argmax(axis=1).tolist()


def test_draws_follow_laws_row_by_row() -> None:
    rng = np.random.default_rng(2)
    laws = rng.dirichlet(np.full(11, 0.5), size=3)
    (tables,) = AliasTables.of([laws])
    which = rng.integers(0, 3, 300_000)
    drawn = tables.draw(which, rng.integers(0, 2**32, len(which), dtype=np.uint32))
    for law in range(3):
        counts = np.bincount(drawn[which == law], minlength=11)
        expected = laws[law] * counts.sum()
        assert (np.abs(counts - expected) < 5.5 * np.sqrt(expected) + 1).all()
