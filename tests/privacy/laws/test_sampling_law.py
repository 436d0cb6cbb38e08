"""Poisson sampling: every unit by its own exact coin at the public rate, whoever else is there and whatever came before."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from models import private_step
from models.dp.poisson import UnitSampler
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose
from tests.privacy.laws.alarm import alarm
from tests.privacy.laws.planned import KEY, faults_of, gradient_faults, run_job

Coins = npt.NDArray[np.bool_]
STREAMS = KeyedStreams(KEY)
STEPS = UNITS = 2000
RATE = 0.06


def sampler_of(units: npt.ArrayLike, rate: float) -> UnitSampler:
    return UnitSampler(np.asarray(units, dtype=np.int64), sampling_rate=rate, max_sampled_batch=10**6)


@cache
def coins() -> Coins:
    """(steps, units) who was sampled when."""
    sampler, included = sampler_of(np.arange(UNITS), RATE), np.zeros((STEPS, UNITS), dtype=bool)
    for step in range(STEPS):
        included[step, sampler.draw(STREAMS, step)] = True
    return included


def judge_coins(included: Coins) -> list[str]:
    """Counts of every unit, of all, of every pair of units, of successive steps; spread of the sizes of batches."""
    judge = alarm("sampling", 7)
    steps, units = included.shape

    def binomial(name: str, count: int, tries: int, rate: float) -> None:
        law = stats.binom(tries, rate)
        judge.within(name, count, law.ppf(judge.side), law.isf(judge.side))

    binomial("all", int(included.sum()), included.size, RATE)
    law, side = stats.binom(steps, RATE), judge.side / units
    counts = included.sum(axis=0)
    judge.within("rarest unit", counts.min(), law.ppf(side), math.inf)
    judge.below("most frequent unit", counts.max(), law.isf(side))
    law = stats.binom(steps, RATE**2)
    together = included.T.astype(np.float32) @ included.astype(np.float32)
    judge.below(
        "any pair of units", together[np.triu_indices(units, 1)].max(), law.isf(judge.side / units**2 * 2)
    )
    first, second = included[0::2], included[1::2]
    binomial("a unit in successive steps", int((first & second).sum()), first.size, RATE**2)
    binomial(
        "a unit and the next", int((included[:, 0::2] & included[:, 1::2]).sum()), included.size // 2, RATE**2
    )
    spread = ((included.sum(axis=1) - units * RATE) ** 2).sum() / (units * RATE * (1 - RATE))
    law = stats.chi2(steps)
    judge.within("sizes of batches", spread, law.ppf(judge.side), law.isf(judge.side))
    return judge.rung


def test_every_unit_is_an_independent_coin_at_the_rate() -> None:
    assert judge_coins(coins()) == []


def other_rate(rate: float) -> Coins:
    return np.stack([STREAMS.coins(Purpose.POISSON, step, rate, UNITS) for step in range(STEPS)])


def fixed_size(included: Coins) -> Coins:
    """Batches of one size, the commonest mistake: what a shuffled loader gives."""
    chosen = np.zeros_like(included)
    for step in range(STEPS):
        order = np.argsort(STREAMS.uniforms(Purpose.TEST, step, UNITS))
        chosen[step, order[: round(UNITS * RATE)]] = True
    return chosen


def copied(target: Coins, rows: slice, columns: slice, source: Coins) -> Coins:
    made = target.copy()
    made[rows, columns] = source
    return made


WRONG: dict[str, Callable[[Coins], Coins]] = {
    "rate 3 % larger": lambda c: other_rate(RATE * 1.03),
    "rate 3 % smaller": lambda c: other_rate(RATE * 0.97),
    "batches of one size": fixed_size,
    "two units on one coin": lambda c: copied(c, slice(None), slice(7, 8), c[:, 1234:1235]),
    "a unit that is never sampled": lambda c: copied(c, slice(None), slice(7, 8), np.False_),
    "each step's coins twice": lambda c: np.repeat(c[: STEPS // 2], 2, axis=0),
    "one step in twenty without a batch": lambda c: c & (np.arange(STEPS) % 20 > 0)[:, None],
    "neighbours on one coin": lambda c: np.repeat(c[:, : UNITS // 2], 2, axis=1),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_sampling_is_detected(wrong: str) -> None:
    assert judge_coins(WRONG[wrong](coins()))


class Told(KeyedStreams):
    """Streams whose words are told: one first word, then fresh ones for a tie."""

    def __init__(self, first: int, fresh: int) -> None:
        super().__init__(KEY)
        self._first, self._fresh = first, fresh
        self.asked = 1

    def words(self, purpose: Purpose, step: int, count: int) -> npt.NDArray[np.uint64]:
        self.asked = max(self.asked, count)
        fresh = [(self._fresh >> 64 * place) & (2**64 - 1) for place in range(count - 1)]
        return np.array([self._first, *fresh], dtype=np.uint64)


def heads(probability: float, first: int, fresh: int = 0) -> bool:
    return bool(Told(first, fresh).coins(Purpose.TEST, 0, probability, 1)[0])


def least_tails(is_head: Callable[[int], bool], bits: int) -> int:
    """How many of the numbers below 2^bits are heads, which are the smallest ones."""
    low, high = 0, 2**bits
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if is_head(middle) else (low, middle)
    return low


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    probability=st.one_of(
        st.floats(0.0, 1.0), st.floats(0.0, 1e-15), st.sampled_from([0.03, 1e-6, 5e-324, 1.0])
    )
)
def test_a_coin_has_exactly_the_probability_of_the_float(probability: float) -> None:
    """By bisection over all words: the heads are the smallest ones, and their exact share is the rate."""
    never = 2 ** (64 * 20) - 1  # fresh words that lose every tie
    surely = least_tails(lambda word: heads(probability, word, never), 64)
    tie = Told(min(surely, 2**64 - 1), never)
    tie.coins(Purpose.TEST, 0, probability, 1)
    bits = 64 * (tie.asked - 1)  # of fresh words, where a tie asks for any
    tied = least_tails(lambda fresh: heads(probability, surely, fresh), bits) if bits else 0
    assert (surely + Fraction(tied, 2**bits)) / 2**64 == Fraction(probability)


tables = st.lists(st.integers(1, 6), min_size=1, max_size=30)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(counts=tables, other=tables, step=st.integers(0, 2**40), order=st.randoms(use_true_random=False))
def test_coin_and_choice_of_a_unit_do_not_depend_on_other_units(counts, other, step, order) -> None:
    """The coupling: unit 0 has the same coin and the same record, whoever else is there and in which order they came."""
    mine, seen = counts[0], set()
    for others in (counts[1:], other, []):
        owner = np.repeat(np.arange(1 + len(others)), [mine, *others])
        places = list(range(len(owner)))
        order.shuffle(places)
        shuffled = owner[places]
        chosen = sampler_of(shuffled, 0.5).draw(STREAMS, step)
        of_unit = [
            int((np.flatnonzero(shuffled == 0) < record).sum()) for record in chosen if shuffled[record] == 0
        ]
        seen.add(tuple(of_unit))
    assert len(seen) == 1
    assert len(seen.pop()) <= 1, "one record at most"


def test_an_empty_table_takes_every_step_with_its_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is there, and the job is the same: every step executed, noised and charged, as the plan says."""
    nobody = PrivateTable(
        codes=np.zeros((0, 4), dtype=np.int16), unit_of_record=np.zeros(0, dtype=np.int64),
        cardinalities=(3, 4, 2, 5), target_index=2,
    )  # fmt: skip
    empty, full = (
        run_job(monkeypatch, table=table, grouping="layers", acts=True, acts_interval=4)
        for table in (nobody, None)
    )
    assert faults_of(empty) == []
    steps = [
        release for (purpose, _), release in empty.listener.heard.items() if purpose == Purpose.GRADIENT_NOISE
    ]
    assert len(steps) == empty.plan.steps == full.plan.steps
    assert all(not bool(part.any()) for release in steps for part, _ in release.exact)
    assert list(empty.listener.heard) == list(full.listener.heard)
    assert empty.plan == full.plan, "and so is the charge"


@pytest.mark.parametrize("change", [1, -1])
def test_a_divisor_that_is_not_the_public_one_is_detected(
    change: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = private_step.NoisyMean.write

    def wrong(self, total, noise, drawn, *, divisor: int, into) -> None:
        write(self, total, noise, drawn, divisor=divisor + change, into=into)

    monkeypatch.setattr(private_step.NoisyMean, "write", wrong)
    assert gradient_faults(run_job(monkeypatch))
