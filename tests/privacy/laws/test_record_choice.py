"""One record of a sampled unit, each with the same probability: exhaustively over all words, and at length."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from models.dp import poisson
from models.dp.poisson import UnitSampler
from models.randomness import KeyedStreams, KeystreamReader, Purpose
from tests.privacy.laws.alarm import alarm
from tests.privacy.laws.planned import KEY

STREAMS = KeyedStreams(KEY)
SIZES = (2, 3, 7, 100)
DRAWS = 300_000


class EveryWord(KeyedStreams):
    """Every unit is sampled, and unit `w` draws the word `first + w`; whoever must draw again is noted."""

    def __init__(self, first: int = 0) -> None:
        super().__init__(KEY)
        self._first = first
        self.again = 0

    def words(self, purpose: Purpose, step: int, count: int) -> npt.NDArray[np.uint64]:
        return np.array([self._first + unit for unit in range(count)], dtype=np.uint64)

    def coins(self, purpose: Purpose, step: int, probability: float, count: int) -> npt.NDArray[np.bool_]:
        return np.ones(count, dtype=bool)

    def reader(self, purpose: Purpose, step: int) -> KeystreamReader:
        streams = self

        class Noted(KeystreamReader):
            def below(self, high: int) -> int:
                streams.again += 1
                return -1  # marked: no record has this number

        return Noted(KEY, bytes(12))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7, 10, 100, 127, 128, 129, 255, 256])
def test_over_all_words_every_record_is_chosen_equally_often(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With words of eight bits instead of 64 there are 256 of them: each record has as many, the rest draw again."""
    # private: so that a buffer of words ends within the test
    monkeypatch.setattr(poisson, "_WORDS", 256)
    streams = EveryWord()
    sampler = UnitSampler(np.repeat(np.arange(256), count), sampling_rate=1.0, max_sampled_batch=256)
    chosen = sampler.draw(streams, 0) - np.arange(256) * count
    kept = chosen[chosen >= 0]
    assert np.array_equal(np.bincount(kept, minlength=count), np.full(count, 256 // count))
    assert streams.again == 256 % count == (chosen == -1).sum()


def test_the_word_is_taken_whole() -> None:
    """The exhaustive proof is for any number of words; here are 64 bits."""
    assert STREAMS.words(Purpose.RECORD_CHOICE, 0, 1).dtype == np.uint64
    for count in (3, 7, 100):
        rest = 2**64 % count
        streams = EveryWord(first=2**64 - rest - 1)
        units = np.repeat(np.arange(rest + 1), count)
        chosen = UnitSampler(units, sampling_rate=1.0, max_sampled_batch=rest + 1).draw(streams, 0)
        assert streams.again == rest > 0, "the words after the last whole round, and no other"
        assert chosen[0] == count - 1


def judge_choice(records: npt.NDArray[np.int64], size: int) -> list[str]:
    judge = alarm("record choice", 3, cases=len(SIZES))
    law = stats.chi2(size - 1)
    counts = np.bincount(records, minlength=size)
    judge.below(
        "frequencies",
        float(((counts - counts.sum() / size) ** 2).sum() * size / counts.sum()),
        law.isf(judge.side),
    )
    pairs = np.bincount(records[0::2] * size + records[1::2], minlength=size**2)
    law = stats.chi2(size**2 - 1)
    statistic = float(((pairs - pairs.sum() / size**2) ** 2).sum() * size**2 / pairs.sum())
    judge.within("successive choices", statistic, law.ppf(judge.side), law.isf(judge.side))
    return judge.rung


def choices(size: int) -> npt.NDArray[np.int64]:
    """`DRAWS` choices of units of `size` records, a thousand units at a step."""
    sampler = UnitSampler(np.repeat(np.arange(1000), size), sampling_rate=1.0, max_sampled_batch=1000)
    drawn = [sampler.draw(STREAMS, step) - size * np.arange(1000) for step in range(DRAWS // 1000)]
    return np.concatenate(drawn)


@pytest.mark.parametrize("size", SIZES)
def test_records_are_chosen_uniformly(size: int) -> None:
    assert judge_choice(choices(size), size) == []


@pytest.mark.parametrize("size", SIZES)
def test_a_biased_choice_is_detected(size: int) -> None:
    """Three of a hundred choices fall on the first record; or remainders of a byte, of which 56 come thrice, not twice."""
    right = choices(size)
    byte = STREAMS.words(Purpose.RECORD_CHOICE, 1, DRAWS).astype(np.uint8).astype(np.int64) % size
    first = np.where(np.arange(DRAWS) % 33, right, 0)
    assert judge_choice(first, size)
    assert size != 100 or judge_choice(byte, size)


def test_the_same_choice_in_successive_steps_is_detected() -> None:
    right = choices(7)
    assert judge_choice(np.where(np.arange(DRAWS) % 20 != 1, right, np.roll(right, 1)), 7)
