"""Disjoint parts of the units: every unit is assigned to a part independently, by its own word of the keyed stream.

Because a unit's part depends on its own word alone, adding or removing one unit changes one part and moves no other unit.
The sizes of the parts are binomial and private; plans use the public share of the declared size. Parts of exactly equal
sizes would be wrong: one unit more would move others between parts.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams, Purpose

Private = TypeVar("Private", bound=PrivateTable | PrivateImages)

_WORD = 2**64


def part_of_unit(units: int, *, parts: int, streams: KeyedStreams) -> npt.NDArray[np.int64]:
    """The part of every unit, uniform on 0..parts-1 and independent; shape (units,).

    The word at the unit's index decides. The rare words that would favour a part are replaced by later words of the same
    unit (rejection sampling).

    Args:
        units: how many units there are; private.
        parts: how many parts; public.
    """
    words = streams.words(Purpose.SELECTION_SPLIT, 0, units)
    limit = np.uint64(_WORD - _WORD % parts - 1)
    rounds = 1
    while (
        again := np.flatnonzero(words > limit)
    ).size:  # pragma: no cover - has probability below 2^-58 for each unit
        words[again] = streams.words(Purpose.SELECTION_SPLIT, rounds, units)[again]
        rounds += 1
    part: npt.NDArray[np.int64] = (words % np.uint64(parts)).astype(np.int64)
    return part


def part_of(private: Private, belongs: npt.NDArray[np.bool_]) -> Private:
    """The records of the units that belong to a part, with the units renumbered in their order.

    Args:
        private: all records.
        belongs: (units,) whether each unit belongs to the part.
    """
    kept = belongs[private.unit_of_record]
    unit_of_record = (np.cumsum(belongs) - 1)[private.unit_of_record[kept]].astype(np.int64)
    if isinstance(private, PrivateTable):
        return replace(private, codes=private.codes[kept], unit_of_record=unit_of_record)
    return replace(
        private, pixels=private.pixels[kept], labels=private.labels[kept], unit_of_record=unit_of_record
    )


def first_records(unit_of_record: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The first record of every unit, which stands for a unit that may count once."""
    _, first = np.unique(unit_of_record, return_index=True)
    return first.astype(np.int64)
