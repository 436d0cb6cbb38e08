"""The weight of each record within its privacy unit, where a unit's records may be anywhere in a long table.

Units are distinguished by a keyed 128-bit hash of their names (BLAKE2b; two of 10^8 units collide with a probability below
10^-22). Records are grouped by sorting hashes, a part of the units at a time, so that memory is bounded: 4 bytes for each
record, and some 60 for each of `RECORDS_AT_ONCE`.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from models.counting.question import WHOLE_RECORD

RECORDS_AT_ONCE: Final = 2**23
"""Records whose units are sorted at a time, about."""
UNIT_KEY_BYTES: Final = 32
_WORD = np.dtype("<u8")

Tags = NDArray[np.uint64]
Weights = NDArray[np.uint32]


class RowShards(Protocol):
    """Stored rows in parts that can be read one by one, each as often as needed."""

    def __len__(self) -> int:
        """Number of parts."""
        ...

    def read(self, shard: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of one part; with `columns` these columns alone."""
        ...


def unit_tags(units: pa.Array, key: bytes) -> Tags:
    """(records, 2) the hash of every record's unit, the same for every batch and every reader of the job.

    Args:
        units: (records,) text.
        key: `UNIT_KEY_BYTES` of the job.
    """
    encoded = pc.dictionary_encode(units)
    hashes = b"".join(
        blake2b(name.encode(), digest_size=16, key=key).digest() for name in encoded.dictionary.to_pylist()
    )
    known = np.frombuffer(hashes, _WORD).astype(np.uint64).reshape(-1, 2)
    tags: Tags = known[encoded.indices.to_numpy(zero_copy_only=False)]
    return tags


def weights_among(tags: Tags, bound: int | None) -> Weights:
    """(records,) what every record counts, in whole units of the grid.

    Args:
        tags: (records, 2) of all records of some units.
        bound: how many records of a unit count, each fully; None: all count, and one together at most.
    """
    order = np.lexsort((tags[:, 0], tags[:, 1]))
    in_order = tags[order]
    begins = np.ones(len(tags), np.bool_)
    begins[1:] = (in_order[1:] != in_order[:-1]).any(axis=1)
    first = np.flatnonzero(begins)
    records = np.diff(np.append(first, len(tags)))
    weights = np.empty(len(tags), np.uint32)
    if bound is None:
        weights[order] = np.repeat(WHOLE_RECORD // records, records)
    else:
        ordinal = np.arange(len(tags)) - np.repeat(first, records)
        unit = np.repeat(np.arange(len(first)), records)
        drawn = np.lexsort((_mixed(in_order, ordinal), unit))  # each unit's records in a random order
        weights[order[drawn]] = np.where(ordinal < bound, WHOLE_RECORD, 0)
    return weights


def _mixed(tags: Tags, ordinal: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A word for each record, by its unit's secret hash and its place among the unit's records alone.

    Finalizer of SplitMix64 (Steele, Lea, Flood 2014), keyed twice. What a unit contributes is bounded whichever of its
    records are taken, so privacy asks nothing of these words; that no record is preferred is all that they are for.
    """
    with np.errstate(over="ignore"):
        words = tags[:, 0] + ordinal.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for multiplier, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27)):
            words = (words ^ (words >> np.uint64(shift))) * np.uint64(multiplier)
        mixed: NDArray[np.uint64] = words ^ (words >> np.uint64(31)) ^ tags[:, 1]
    return mixed


def record_weights(shards: RowShards, unit: str, *, key: bytes, bound: int | None) -> list[Weights]:
    """(records,) of every shard: what its records count, in whole units of the grid.

    Args:
        bound: see `weights_among`.
    """
    sizes = [sum(batch.num_rows for batch in shards.read(shard, [unit])) for shard in range(len(shards))]
    weights = [np.zeros(size, np.uint32) for size in sizes]
    parts = max(1, -(-sum(sizes) // RECORDS_AT_ONCE))
    for part in range(parts):
        tags: list[Tags] = [np.empty((0, 2), np.uint64)]
        places: list[list[NDArray[np.int64]]] = []
        for shard in range(len(shards)):
            places.append([])
            start = 0
            for batch in shards.read(shard, [unit]):
                own = unit_tags(batch.column(0), key)
                chosen = np.flatnonzero(own[:, 1] % np.uint64(parts) == part)
                tags.append(own[chosen])
                places[-1].append(chosen + start)
                start += len(own)
        found = weights_among(np.concatenate(tags), bound)
        start = 0
        for shard, own_places in enumerate(places):
            for chosen in own_places:
                weights[shard][chosen] = found[start : start + len(chosen)]
                start += len(chosen)
    return weights
