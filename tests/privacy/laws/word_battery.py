"""Are 64-bit words uniform and independent? Statistics that add up over any number of words.

Where a count is binomial with probability one half, Hoeffding's inequality gives the bound for any number of words
(Hoeffding 1963): `P(|X - n / 2| >= t) <= 2 exp(-2 t^2 / n)`.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from tests.privacy.laws.alarm import Alarm

Words = npt.NDArray[np.uint64]
BITS = 64
LAGS = (1, 2, 3, 4, 5, 6, 7, 8, 16)
"""In words; a block of ChaCha20 has eight."""
SHIFTS = (1, 8, 16, 32)
"""In bits; the first counts runs."""
COMPARISONS = 64 + 8 + 4 + len(SHIFTS) + len(LAGS)


def fair(alarm: Alarm, name: str, count: int, tosses: int) -> None:
    """Compare a count of heads with a fair coin."""
    reach = math.sqrt(0.5 * tosses * math.log(1 / alarm.side))
    alarm.within(name, count - tosses / 2, -reach, reach)


def even(alarm: Alarm, name: str, counts: npt.NDArray[np.int64], shares: npt.NDArray[np.float64]) -> None:
    """Pearson's chi-square of counts in many well filled cells, both tails."""
    expected = counts.sum() * shares
    law = stats.chi2(counts.size - 1)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    alarm.within(name, statistic, law.ppf(alarm.side), law.isf(alarm.side))


class WordBattery:
    """Balance of every bit, bytes and 16-bit pieces by their place, runs of bits, agreement at lags."""

    def __init__(self) -> None:
        self.words = 0
        self._pairs = np.zeros((4, 2**16), dtype=np.int64)
        self._changes = np.zeros(len(SHIFTS), dtype=np.int64)
        self._neighbours = 0
        self._agreements = np.zeros(len(LAGS), dtype=np.int64)
        self._compared = np.zeros(len(LAGS), dtype=np.int64)

    def add(self, words: Words) -> None:
        """Count one piece of a stream."""
        self.words += words.size
        pieces = words.astype("<u8").view("<u2").reshape(-1, 4)
        for place in range(4):
            self._pairs[place] += np.bincount(pieces[:, place], minlength=2**16)
        for index, shift in enumerate(SHIFTS):
            following = (words[:-1] >> np.uint64(shift)) | (words[1:] << np.uint64(BITS - shift))
            self._changes[index] += np.bitwise_count(words[:-1] ^ following).sum(dtype=np.int64)
        self._neighbours += BITS * (words.size - 1)
        for index, lag in enumerate(LAGS):
            differ = np.bitwise_count(words[:-lag] ^ words[lag:]).sum(dtype=np.int64)
            self._agreements[index] += BITS * (words.size - lag) - differ
            self._compared[index] += BITS * (words.size - lag)

    def judge(self, alarm: Alarm) -> None:
        """Compare everything counted with uniform, independent words."""
        values = np.arange(2**16)
        for place in range(4):
            for bit in range(16):
                ones = int(self._pairs[place, (values >> bit) & 1 == 1].sum())
                fair(alarm, f"bit {16 * place + bit}", ones, self.words)
            even(alarm, f"16 bits at {place}", self._pairs[place], np.full(2**16, 2.0**-16))
            square = self._pairs[place].reshape(256, 256)
            for half, axis in enumerate((0, 1)):
                even(alarm, f"byte {2 * place + half}", square.sum(axis=axis), np.full(256, 2.0**-8))
        for shift, changes in zip(SHIFTS, self._changes, strict=True):
            fair(alarm, f"changes {shift} bits on", int(changes), self._neighbours)
        for index, lag in enumerate(LAGS):
            fair(alarm, f"agreement at lag {lag}", int(self._agreements[index]), int(self._compared[index]))
