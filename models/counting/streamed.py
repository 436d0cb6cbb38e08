"""Counts of stored rows, read batch by batch: memory depends on the tables asked for, not on the number of rows."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from core.plan.domain.codec import Codes, codes_type, encode_place
from core.plan.domain.forbidden import forbidden_pairs
from core.plan.domain.table import TableDomain
from models.counting.question import Counter, CountQuestion, Counts
from models.counting.tally import Tally
from models.counting.units import RowShards, Weights, record_weights
from models.encoding import Forbidden, codes_alone


class StreamedCounter:
    """Answers from stored rows; see `models.counting.question.Counter`.

    Every call reads the rows once. Where units have a column, the first call reads that column some more times and
    keeps 4 bytes for each record.

    Args:
        key: of the job, for the hashes that distinguish units.
        bound: how many records of a unit count, each fully; None: all count, together at most one.
    """

    def __init__(
        self, shards: RowShards, domain: TableDomain, *, key: bytes, bound: int | None = None
    ) -> None:
        self.cardinalities = domain.cardinalities
        self.target_index = domain.target_index
        self.ordered, self.alone = domain.ordered, codes_alone(domain)
        self.forbidden: Forbidden = partial(forbidden_pairs, domain)
        self.most_records = bound or 1
        self._shards = shards
        self._domain = domain
        self._key = key
        self._bound = bound
        self._weights: list[Weights] | None = None

    def count(self, questions: Sequence[CountQuestion]) -> list[Counts]:
        """Count the records of every cell of every table."""
        sums = [np.zeros(question.shape, np.int64) for question in questions]
        for shard in range(len(self._shards)):
            weights = self._weights_of(shard)
            add_counts(sums, count_shard(self._shards.read(shard), self._domain, questions, weights))
        return sums

    def _weights_of(self, shard: int) -> Weights | None:
        if self._domain.privacy_unit is None:
            return None
        if self._weights is None:
            self._weights = record_weights(
                self._shards, self._domain.privacy_unit, key=self._key, bound=self._bound
            )
        return self._weights[shard]


class JointCounter:
    """Answers from the rows of several owners: the sums of their counts; see `models.counting.question.Counter`.

    A unit is one owner's, so it moves a sum by as much as it moves the counts of its owner.

    Args:
        counters: of each owner's rows, all of one domain and one bound, each with a key of its own.
    """

    def __init__(self, counters: Sequence[Counter]) -> None:
        first = counters[0]
        self.cardinalities, self.target_index = first.cardinalities, first.target_index
        self.ordered, self.alone = first.ordered, first.alone
        self.forbidden, self.most_records = first.forbidden, first.most_records
        self._counters = counters

    def count(self, questions: Sequence[CountQuestion]) -> list[Counts]:
        """Count the records of every cell of every table."""
        sums = [np.zeros(question.shape, np.int64) for question in questions]
        for counter in self._counters:
            add_counts(sums, counter.count(questions))
        return sums


def count_shard(
    batches: Iterable[pa.RecordBatch],
    domain: TableDomain,
    questions: Sequence[CountQuestion],
    weights: Weights | None,
) -> list[Counts]:
    """Count the records of a part of the rows; the sums of all parts are the counts of the whole.

    Args:
        batches: rows of the part with `storage_schema(domain)`.
        weights: (records,) their weights, in whole units of the grid; None where every record counts fully.

    Returns:
        One int64 array for each question. Private.
    """
    tally = Tally(questions)
    columns = sorted({column for question in questions for column in question.columns})
    start = 0
    for codes in _gathered((_coded(batch, domain, columns) for batch in batches), tally.batch_records):
        own = None if weights is None else weights[start : start + len(codes)].astype(np.float64)
        tally.add(codes, own)
        start += len(codes)
    assert weights is None or start == len(weights), "every record of a shard has its weight"
    return tally.answers()


def add_counts(sums: list[Counts], part: Sequence[Counts]) -> None:
    """Add the counts of a part to the sums, in place."""
    for place, counts in enumerate(part):
        sums[place] += counts


def _coded(batch: pa.RecordBatch, domain: TableDomain, columns: Sequence[int]) -> Codes:
    """(records, columns) the codes of some columns; those of the others are not set."""
    codes: Codes = np.empty((batch.num_rows, len(domain.coded)), codes_type(domain.cardinalities))
    for place in columns:
        codes[:, place] = encode_place(domain, place, batch)
    return codes


def _gathered(batches: Iterable[Codes], records: int) -> Iterator[Codes]:
    """The same records in batches of `records`, the last of them smaller."""
    waiting: list[Codes] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += len(batch)
        if held >= records:
            whole = np.concatenate(waiting)
            for start in range(0, held - held % records, records):
                yield whole[start : start + records]
            waiting, held = [whole[held - held % records :].copy()], held % records
    if held:
        yield np.concatenate(waiting)
