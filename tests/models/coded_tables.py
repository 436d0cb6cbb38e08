"""Small coded tables for tests of models."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from models.encoding import PrivateTable
from models.randomness import KeyedStreams

KEY = bytes(range(32))


def small_table(
    *, records: int = 400, units: int | None = None, target: bool = True, seed: int = 0
) -> PrivateTable:
    """A table of three dependent columns and a binary target; units of several records where `units` is given."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, records)
    first = np.where(rng.random(records) < 0.8, label, rng.integers(0, 3, records))
    second = (first + rng.integers(0, 2, records)) % 4
    third = rng.integers(0, 5, records)
    owner = np.arange(records) if units is None else np.sort(rng.integers(0, units, records))
    _, unit_of_record = np.unique(owner, return_inverse=True)
    return PrivateTable(
        codes=np.column_stack([first, second, label, third]).astype(np.int16),
        unit_of_record=unit_of_record.astype(np.int64),
        cardinalities=(3, 4, 2, 5),
        target_index=2 if target else None,
    )


def streams(number: int = 0) -> KeyedStreams:
    """Keyed streams of a fixed test key."""
    return KeyedStreams(bytes([number % 256, KEY[1] + number // 256]) + KEY[2:])


def without_unit(table: PrivateTable, unit: int) -> PrivateTable:
    """The neighbour that lacks one unit."""
    kept = table.unit_of_record != unit
    owners = table.unit_of_record[kept]
    return PrivateTable(
        codes=table.codes[kept],
        unit_of_record=owners - (owners > unit),
        cardinalities=table.cardinalities,
        target_index=table.target_index,
        record_bound=table.record_bound,
    )


def grouped(table: PrivateTable, groups: Sequence[npt.NDArray[np.int64]]) -> PrivateTable:
    """The table with the group of every code in its place."""
    codes = [of_codes[table.codes[:, column]] for column, of_codes in enumerate(groups)]
    return replace(
        table,
        codes=np.column_stack(codes).astype(np.int16),
        cardinalities=tuple(int(of_codes.max()) + 1 for of_codes in groups),
    )
