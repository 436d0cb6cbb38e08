"""The statistical battery, short, on the streams and the noise of the job; `make laws` is the long run.

Power: every wrong law below must ring the alarm that the right one does not, at the same sizes and bounds.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy import stats

from models.randomness import PIECE, KeyedStreams, Purpose
from tests.privacy.laws import normal_battery, word_battery
from tests.privacy.laws.alarm import Alarm, alarm
from tests.privacy.laws.draws import gradient_noise
from tests.privacy.laws.normal_battery import LENGTH, Floats, NormalBattery, darling_bound
from tests.privacy.laws.word_battery import WordBattery, Words, even

STREAMS = KeyedStreams(bytes(range(32)))
PIECES = 16


def judged_words(words: Words) -> Alarm:
    battery, judge = WordBattery(), alarm("words", word_battery.COMPARISONS)
    battery.add(words)
    battery.judge(judge)
    assert len(judge.made) == judge.comparisons
    return judge


def judged_normals(pieces: Iterator[Floats]) -> Alarm:
    battery, judge = NormalBattery(), alarm("normals", normal_battery.COMPARISONS + 1)
    for piece in pieces:
        battery.add(piece)
    battery.judge(judge)
    return judge


def right() -> list[Floats]:
    return [x for x, _ in gradient_noise(STREAMS, range(PIECES))]


def test_words_are_uniform_and_independent() -> None:
    assert judged_words(STREAMS.words(Purpose.TEST, 1, 1 << 19)).rung == []


def test_noise_is_normal_and_independent_and_its_low_bits_are_even() -> None:
    judge = judged_normals(iter(right()))
    low = np.concatenate([steps & 0xFFFF for _, steps in gradient_noise(STREAMS, range(PIECES))])
    even(judge, "low bits", np.bincount(low, minlength=2**16), np.full(2**16, 2.0**-16))
    assert judge.rung == []
    assert len(judge.made) == judge.comparisons


def lehmer(count: int) -> Words:
    """The low bits of a power-of-two generator have short periods."""
    words, state = np.empty(count, dtype=np.uint64), 1
    for index in range(count):
        state = state * 6364136223846793005 + 1442695040888963407 & (2**64 - 1)
        words[index] = state
    return words


WRONG_WORDS: dict[str, Callable[[Words], Words]] = {
    "a bit set in one word of fifty": lambda w: np.where(np.arange(w.size) % 50, w, w | np.uint64(1 << 17)),
    "53 bits": lambda w: w >> np.uint64(11) << np.uint64(11),
    "halves alike in one word of fifty": lambda w: np.where(
        np.arange(w.size) % 50, w, (w >> np.uint64(32)) | (w & np.uint64(2**64 - 2**32))
    ),
    "a block used again": lambda w: np.where(np.arange(w.size) // 8 % 100, w, np.roll(w, 8)),
    "a counter": lambda w: np.arange(w.size, dtype=np.uint64),
    "a linear congruence": lambda w: lehmer(w.size),
    "a letter is missing": lambda w: np.where((w & np.uint64(0xFF)) == 7, w + np.uint64(1), w),
}


@pytest.mark.parametrize("wrong", WRONG_WORDS)
def test_wrong_words_are_detected(wrong: str) -> None:
    assert judged_words(WRONG_WORDS[wrong](STREAMS.words(Purpose.TEST, 1, 1 << 19)).astype(np.uint64)).rung


def students(x: Floats, freedom: int) -> Floats:
    chi = sum(np.roll(x, 17 * (k + 1)) ** 2 for k in range(freedom))
    return np.asarray(x / np.sqrt(chi / freedom))


def pairs_again(x: Floats) -> Floats:
    """The second piece of the sampler repeats the first: one address served two draws."""
    return np.concatenate([x[:PIECE], x[:PIECE], x[2 * PIECE :]])


WRONG_NORMALS: dict[str, Callable[[Floats], Floats]] = {
    "variance 3 % larger": lambda x: x * 1.03**0.5,
    "variance 3 % smaller": lambda x: x * 0.97**0.5,
    "a small mean": lambda x: x + 0.01,
    "one address for two draws": pairs_again,
    "neighbours correlated by 1 %": lambda x: (x + 0.01 * np.roll(x, 1)) / (1 + 1e-4) ** 0.5,
    "a hum": lambda x: x + 0.02 * np.sin(0.37 * np.arange(x.size)),
    "no tails": lambda x: np.where(np.abs(x) > 4.0, x / 2, x),
    "nothing beyond 4.2": lambda x: np.clip(x, -4.2, 4.2),
    "tails too heavy": lambda x: students(x, 60),
    "the sum of twelve uniform numbers": lambda x: twelve(x.size),
    "256 angles": lambda x: coarse_angles(x, 256),
    "one radius in a thousand infinite": lambda x: np.where(np.arange(x.size) % 1000, x, np.inf),
}


def twelve(count: int) -> Floats:
    return STREAMS.uniforms(Purpose.TEST, 2, (12, count)).sum(axis=0) - 6.0


def coarse_angles(x: Floats, angles: int) -> Floats:
    cosine, sine = x.reshape(-1, 2, PIECE // 2).transpose(1, 0, 2)
    angle = np.round(np.arctan2(sine, cosine) / (2 * np.pi) * angles) / angles * 2 * np.pi
    radius = np.hypot(cosine, sine)
    return np.asarray(
        np.stack([radius * np.cos(angle), radius * np.sin(angle)]).transpose(1, 0, 2).reshape(-1)
    )


@pytest.mark.parametrize("wrong", WRONG_NORMALS)
def test_wrong_normals_are_detected(wrong: str) -> None:
    with np.errstate(invalid="ignore"):
        assert judged_normals(WRONG_NORMALS[wrong](x) for x in right()).rung


def test_noise_of_few_bits_is_detected() -> None:
    """Noise made in float32 and then put on the grid: its low bits are zeros (Mironov 2012)."""
    steps = np.concatenate([steps for _, steps in gradient_noise(STREAMS, range(2))])
    judge = alarm("normals", 1)
    even(judge, "low bits", np.bincount(steps.astype(np.float32).astype(np.int64) & 0xFFFF, minlength=2**16),
         np.full(2**16, 2.0**-16))  # fmt: skip
    assert judge.rung


def test_the_bound_of_anderson_and_darling_is_above_known_quantiles() -> None:
    # Lewis 1961 and Marsaglia and Marsaglia 2004: 3.857 at 1 %, 6.000 at 0.1 % (about), tails sqrt(3) P(chi^2_1 > 2 z).
    assert darling_bound(1e-2) > 3.857
    for tail in (1e-6, 1e-9, 1e-12):
        z = darling_bound(tail)
        assert tail > 3**0.5 * stats.chi2(1).sf(2 * z) > tail / 300
    assert LENGTH >= 2**17
