"""Poisson sampling over privacy units, with exact coins from the keyed stream."""

import numpy as np
import numpy.typing as npt

from models.dp.errors import BatchOverCap
from models.randomness import KeyedStreams, Purpose

_WORDS = 2**64


class UnitSampler:
    """Draws the batch of a step: every unit by its own coin, one record of each sampled unit uniformly.

    A unit's coin and choice come from the word at the unit's own index, so they do not depend on any other unit.

    Args:
        unit_of_record: (records,) integer unit of every record, 0..units-1 in any order.
        sampling_rate: public probability of every coin.
        max_sampled_batch: public cap on the units of one batch.
    """

    def __init__(
        self, unit_of_record: npt.NDArray[np.int64], *, sampling_rate: float, max_sampled_batch: int
    ) -> None:
        self._records = np.argsort(unit_of_record, kind="stable")
        self._counts = np.bincount(unit_of_record) if unit_of_record.size else np.zeros(0, dtype=np.int64)
        self._first = np.cumsum(self._counts) - self._counts
        self._sampling_rate = sampling_rate
        self._max_sampled_batch = max_sampled_batch

    def draw(self, streams: KeyedStreams, step: int) -> npt.NDArray[np.int64]:
        """Indices of the records of this step's batch, possibly none.

        Raises:
            BatchOverCap: more units than the cap were drawn; a constant error, because it depends on the data.
        """
        units = self._counts.size
        heads = streams.coins(Purpose.POISSON, step, self._sampling_rate, units)
        sampled = np.flatnonzero(heads & (self._counts > 0))
        if sampled.size > self._max_sampled_batch:
            raise BatchOverCap
        words = streams.words(Purpose.RECORD_CHOICE, step, units)[sampled]
        counts = self._counts[sampled]
        chosen = (words % counts.astype(np.uint64)).astype(np.int64)
        self._redraw_biased(chosen, words, counts, streams, step)
        records: npt.NDArray[np.int64] = self._records[self._first[sampled] + chosen]
        return records

    def _redraw_biased(
        self,
        chosen: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        counts: npt.NDArray[np.int64],
        streams: KeyedStreams,
        step: int,
    ) -> None:
        """Rejection sampling: redraw, after the words of all units, where a word is in the incomplete last round of its count."""
        limits = np.array([_WORDS - _WORDS % int(count) - 1 for count in np.unique(counts)], dtype=np.uint64)
        over = np.flatnonzero(words > limits[np.searchsorted(np.unique(counts), counts)])
        if over.size:
            reader = streams.reader(Purpose.RECORD_CHOICE, step)
            reader.take(8 * self._counts.size)
            for index in over:
                chosen[index] = reader.below(int(counts[index]))
