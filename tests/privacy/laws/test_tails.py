"""The far tail of the noise, drawn on purpose: given a radius word with `k` leading zeros, `R^2 / 2 - k log 2` is Exp(1).

So the law beyond 4, 5 and 9 standard deviations is tested with as many numbers as that of the bulk.
"""

import math

import numpy as np
import pytest
import torch
from scipy import stats

# private: the law beyond the constant is what is tested
from models.randomness import _RARE, PIECE, KeyedStreams, KeystreamReader, NormalSource, Purpose
from tests.privacy.laws.alarm import alarm
from tests.privacy.laws.normal_battery import Floats

STREAMS = KeyedStreams(bytes(range(32)))
STEP = 107
"""Its first piece has a small radius, as one in sixty pieces has."""
ZEROS = (8, 12, 18, 24, 36, 48, 60)
"""Radii beyond 3.3, 4.1, 5.0, 5.8, 7.1, 8.2, 9.1."""


class LeadingZeros(KeystreamReader):
    """A stream whose words for radii begin with zeros."""

    def __init__(self, zeros: int) -> None:
        super().__init__(bytes(range(32)), zeros.to_bytes(12, "little"))
        self._zeros: int | None = zeros

    def words_into(self, words):
        super().words_into(words)
        if self._zeros is not None and words.size == PIECE:  # not the second words of small radii
            words[: PIECE // 2] >>= np.uint64(self._zeros)
        return words


def excess(zeros: int, pieces: int = 4) -> Floats:
    """`R^2 / 2 - k log 2` of radii drawn by the sampler, from the two numbers that share each."""
    reader, source = LeadingZeros(zeros), NormalSource()
    radii = []
    for _ in range(pieces):
        x = source.fill(torch.empty(PIECE, dtype=torch.float64), reader).numpy().reshape(2, -1)
        radii.append((x**2).sum(axis=0) / 2 - zeros * math.log(2))
    return np.concatenate(radii)


def exponential(drawn: Floats, *, cases: int) -> list[str]:
    judge = alarm("tails", 2, cases=cases)
    gap = float(stats.kstest(drawn, "expon", method="asymp").statistic)
    judge.below("distance", gap, math.sqrt(math.log(1 / judge.side) / (2 * drawn.size)))
    law = stats.gamma(drawn.size)
    judge.within("sum", float(drawn.sum()), law.ppf(judge.side), law.isf(judge.side))
    return judge.rung


@pytest.mark.parametrize("zeros", ZEROS)
def test_the_tail_is_that_of_the_normal_law(zeros: int) -> None:
    drawn = excess(zeros)
    assert exponential(drawn, cases=len(ZEROS)) == []
    # No step of the radius shows: nearly all are different numbers, however far out.
    assert np.unique(drawn).size > 0.999 * drawn.size


@pytest.mark.parametrize("zeros", ZEROS)
def test_a_tail_off_by_three_percent_is_detected(zeros: int) -> None:
    radius_squared = 2 * (excess(zeros) + zeros * math.log(2))
    assert exponential(radius_squared * 1.03 / 2 - zeros * math.log(2), cases=len(ZEROS))


def test_one_word_for_a_radius_would_show_its_steps() -> None:
    """What the second word is for: 64 bits alone give sixteen radii beyond 9.1 and none beyond 9.5."""
    words = LeadingZeros(60).words_into(np.empty(PIECE, dtype=np.uint64))[: PIECE // 2]
    assert np.unique(np.sqrt(-2 * np.log((words + 0.5) / 2**64))).size == 16
    assert excess(60).max() > 4 * math.log(2) + 0.7


def test_a_second_word_is_drawn_for_rare_radii_alone_and_once_each() -> None:
    source, taken = NormalSource(), []

    class Counted(KeystreamReader):
        def words_into(self, words):
            taken.append(words.size)
            super().words_into(words)
            if len(taken) == 1:
                words[:6] = [
                    int(_RARE) - 1,
                    int(_RARE),
                    0,
                    2**64 - 1,
                    2**64 - int(_RARE),
                    2**64 - 1 - int(_RARE),
                ]
            return words

    source.fill(torch.empty(999, dtype=torch.float64), Counted(bytes(32), bytes(12)))
    assert taken == [1000, 4]


def test_pieces_go_on_after_second_words() -> None:
    """Whatever small radii a piece had, the next begins where the stream stands: no word serves twice."""
    made = STREAMS.normals(Purpose.TEST, STEP, 3 * PIECE + 1)
    reader, words = STREAMS.reader(Purpose.TEST, STEP), []
    for first in range(0, 3 * PIECE + 1, PIECE):
        count = min(PIECE, 3 * PIECE + 1 - first)
        drawn = reader.words_into(np.empty(count + count % 2, dtype=np.uint64))
        small = int((drawn[: drawn.size // 2] + _RARE < 2 * _RARE).sum())
        reader.take(8 * small)
        words.append(small)
        u = drawn[: drawn.size // 2] * 2.0**-64
        cosine = np.sqrt(-2 * np.log(u)) * np.cos(
            drawn[drawn.size // 2 :].view(np.int64) * (2 * np.pi * 2.0**-64)
        )
        np.testing.assert_allclose(made[first : first + u.size], cosine, rtol=1e-6, atol=1e-9)
    assert sum(words) > 0, "the step was chosen for its small radius"
