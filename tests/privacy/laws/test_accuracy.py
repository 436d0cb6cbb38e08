"""How far a number of the noise may be from the exact function of its words: far below the grid, wherever it lies.

The formula is computed again with 64-bit mantissas (long double) from the words themselves. The grid of the gradient's
noise is 2^-37 standard deviations or more, so an error of 2^-43 is a sixty-fourth of a step of it.
"""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from models.dp.noise import GRID_BITS
from models.randomness import PIECE, KeyedStreams, NormalSource, Purpose
from tests.privacy.laws.alarm import alarm
from tests.privacy.laws.normal_battery import Floats
from tests.privacy.laws.word_battery import Words

STREAMS = KeyedStreams(bytes(range(32)))
ERROR = 2.0**-43
PI = np.longdouble("3.14159265358979323846264338327950288")
ENDS = {"anywhere": lambda w: w, **{
    f"{k} zeros": lambda w, k=k: w >> np.uint64(k) for k in (12, 19, 21, 40, 63)
}, **{
    f"{k} ones": lambda w, k=k: ~(w >> np.uint64(k)) for k in (12, 19, 21, 40, 63)
}}  # fmt: skip

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="no floating point beyond float64 to compare with"
)


def exact(words: Words, finer: Words) -> np.ndarray:
    """Box and Muller in long double; `1 - u` is exact wherever `u` is near 1."""
    radius, angle = words.reshape(2, -1)
    scale = np.longdouble(2) ** -64
    fraction = np.where(finer > 0, (finer.astype(np.longdouble) + 0.5) * scale, np.longdouble(0.5))
    near_one = radius >= np.uint64(2**63)
    distance = (np.where(near_one, ~radius, radius).astype(np.longdouble) + fraction) * scale
    r = np.sqrt(-2 * np.where(near_one, np.log1p(-distance), np.log(distance)))
    turn = angle.view(np.int64).astype(np.longdouble) * (2 * PI * scale)
    return np.concatenate([r * np.cos(turn), r * np.sin(turn)])


@pytest.mark.parametrize("ends", ENDS)
def test_the_noise_is_its_formula_to_a_sixty_fourth_of_the_grid(ends: str) -> None:
    words = STREAMS.words(Purpose.TEST, 3, PIECE)
    words[: PIECE // 2] = ENDS[ends](words[: PIECE // 2])
    finer, made = np.zeros(PIECE // 2, dtype=np.uint64), torch.empty(PIECE, dtype=torch.float64)
    rare = np.flatnonzero(np.minimum(words[: PIECE // 2], ~words[: PIECE // 2]) < np.uint64(2**44))
    finer[rare] = STREAMS.words(Purpose.TEST, 4, rare.size)
    NormalSource().from_words(words, made, rare=rare, finer=finer[rare])
    error = np.abs(made.numpy() - exact(words, finer)).max()
    assert error < ERROR <= 2.0 ** -(GRID_BITS + 1) / 64


@pytest.mark.parametrize("k", [12, 19, 21, 40, 63])
def test_neighbouring_words_are_neighbouring_radii_below_the_grid(k: int) -> None:
    """The steps in which the radius comes are as fine near 0 and in the tail as they must be: below 2^-43."""
    for flip in (np.uint64(0), ~np.uint64(0)):
        first = (STREAMS.words(Purpose.TEST, 5, 1000) >> np.uint64(k)) ^ flip
        rare = np.flatnonzero(np.minimum(first, ~first) < np.uint64(2**44))
        common = np.setdiff1d(np.arange(1000), rare)
        radii = []
        for neighbour in (0, 1):  # the next word, or the next second word that float64 tells apart
            words = np.concatenate([first, np.zeros(1000, dtype=np.uint64)])
            words[common] += np.uint64(neighbour)
            finer = np.full(rare.size, 2**62 + 2**11 * neighbour, dtype=np.uint64)
            made = torch.empty(2000, dtype=torch.float64)
            NormalSource().from_words(words, made, rare=rare, finer=finer)
            radii.append(made[:1000].numpy().copy())
        assert np.abs(radii[1] - radii[0]).max() < ERROR


def test_one_word_for_a_radius_near_nothing_would_show_its_steps() -> None:
    """What the second word is for near u = 1: float64 alone has no number between 0 and 2^-26."""
    u = np.nextafter(1.0, 0.0)
    assert math.sqrt(-2 * math.log(u)) > 2.0**-26.1
    assert 1000 * 2.0**-GRID_BITS < 2.0**-26


@pytest.mark.parametrize("ones", [8, 24, 48])
def test_the_smallest_radii_follow_the_law(ones: int) -> None:
    """Given `k` leading ones, `(1 - exp(-R^2 / 2)) 2^k` is uniform."""
    judge = alarm("tails", 1, cases=30)
    words = STREAMS.words(Purpose.TEST, 6, PIECE)
    words[: PIECE // 2] = ~(words[: PIECE // 2] >> np.uint64(ones))
    rare = np.arange(PIECE // 2) if ones > 20 else np.flatnonzero(~words[: PIECE // 2] < np.uint64(2**44))
    made = torch.empty(PIECE, dtype=torch.float64)
    finer = STREAMS.words(Purpose.TEST, 7, rare.size)
    x: Floats = NormalSource().from_words(words, made, rare=rare, finer=finer).numpy().reshape(2, -1)
    uniform = -np.expm1(-(x**2).sum(axis=0) / 2) * 2.0**ones
    gap = float(stats.kstest(uniform, "uniform", method="asymp").statistic)
    judge.below("distance", gap, math.sqrt(math.log(1 / judge.side) / PIECE))
    assert judge.rung == []
    assert np.unique(uniform).size > 0.999 * uniform.size
