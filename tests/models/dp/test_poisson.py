import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from core.errors import UnderstudyError
from models.dp.errors import BatchOverCap
from models.dp.poisson import UnitSampler
from models.randomness import KeyedStreams, Purpose

STREAMS = KeyedStreams(bytes(range(32)))


def sampler(units: list[int], *, rate: float = 0.3, cap: int = 10**6) -> UnitSampler:
    return UnitSampler(np.array(units, dtype=np.int64), sampling_rate=rate, max_sampled_batch=cap)


def test_every_unit_is_an_independent_coin() -> None:
    # False alarm below 1e-6 in all: 300 units, one two-sided bound each at 1e-9.
    steps, units, rate = 2000, 300, 0.07
    drawn = sampler(list(range(units)), rate=rate)
    included = np.zeros((steps, units), dtype=bool)
    for step in range(steps):
        included[step, drawn.draw(STREAMS, step)] = True
    distribution = stats.binom(steps, rate)
    counts = included.sum(axis=0)
    assert distribution.ppf(1e-9) <= counts.min()
    assert counts.max() <= distribution.isf(1e-9)
    sizes = included.sum(axis=1)  # binomial, not fixed: variance within the chi-square bounds
    ratio = ((sizes - units * rate) ** 2).sum() / (units * rate * (1 - rate))
    assert stats.chi2(steps).ppf(1e-8) < ratio < stats.chi2(steps).isf(1e-8)


def test_a_unit_never_comes_twice_and_its_record_is_uniform() -> None:
    units = [0, 1, 1, 2, 1, 2, 0, 1]  # unit 1 has four records
    drawn = sampler(units, rate=1.0)
    chosen = np.array([drawn.draw(STREAMS, step) for step in range(4000)])
    assert np.array_equal(np.array(units)[chosen], np.tile([0, 1, 2], (4000, 1)))
    counts = np.bincount(chosen[:, 1], minlength=8)[[1, 2, 4, 7]]
    assert stats.chisquare(counts).pvalue > 1e-6


def test_other_units_keep_their_coins_when_one_joins() -> None:
    before = sampler([0, 1, 2, 3]).draw(STREAMS, 5)
    after = sampler([0, 1, 2, 3, 4, 4]).draw(STREAMS, 5)
    assert np.array_equal(before, after[after < 4])


def test_empty_batches_and_empty_tables() -> None:
    assert sampler([0, 1], rate=0.0).draw(STREAMS, 1).size == 0
    assert sampler([]).draw(STREAMS, 1).size == 0


def test_a_gap_in_the_numbering_is_no_unit() -> None:
    assert sampler([0, 2], rate=1.0).draw(STREAMS, 1).tolist() == [0, 1]


def test_over_the_cap_is_a_constant_failure() -> None:
    messages = set()
    for units in (4, 50):
        with pytest.raises(BatchOverCap) as raised:
            sampler(list(range(units)), rate=1.0, cap=3).draw(STREAMS, 1)
        assert isinstance(raised.value, UnderstudyError)
        messages.add((raised.value.code, raised.value.detail, raised.value.remedy, str(raised.value.facts)))
    assert len(messages) == 1
    assert sampler([0, 1, 2], rate=1.0, cap=3).draw(STREAMS, 1).size == 3


class Worded(KeyedStreams):
    """Streams whose choice words are extreme, so that the incomplete last round is met."""

    def words(self, purpose: Purpose, step: int, count: int) -> npt.NDArray[np.uint64]:
        if purpose is Purpose.RECORD_CHOICE:
            return np.full(count, 2**64 - 1, dtype=np.uint64)
        return super().words(purpose, step, count)


def test_a_word_of_the_incomplete_round_is_redrawn() -> None:
    drawn = UnitSampler(np.zeros(3, dtype=np.int64), sampling_rate=1.0, max_sampled_batch=5)
    expected = []
    for step in range(60):
        reader = Worded(bytes(32)).reader(Purpose.RECORD_CHOICE, step)
        reader.take(8)
        expected.append(reader.below(3))
    assert [int(drawn.draw(Worded(bytes(32)), step)[0]) for step in range(60)] == expected
    assert set(expected) == {0, 1, 2}
