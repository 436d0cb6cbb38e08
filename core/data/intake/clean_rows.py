"""Clean one block of raw columns into a batch of rows, counting refusals and changes."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.plan.domain.cleaning.cleaned import Cleaned
from core.plan.domain.cleaning.column import clean_column, clean_unit
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import CsvFormat, TableDomain

LISTED_PER_BLOCK: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanBlock:
    """Clean rows, with counts of refusals and changes.

    Attributes:
        batch: Accepted rows with ``storage_schema``.
        changes: (column, kind) of changed values in accepted rows.
        refusals: (column, kind) of refusals.
        problems: (row, column, kind) of the first refusals; row counts from 0 within the block.
    """

    batch: pa.RecordBatch
    rows_refused: int
    changes: Counter[tuple[str, str]]
    refusals: Counter[tuple[str, str]]
    problems: list[tuple[int, str, str]]


def clean_rows(
    domain: TableDomain, columns: dict[str, pa.Array], rows: int, csv: CsvFormat | None
) -> CleanBlock:
    """Clean a block of raw columns (modelled and unit, by name), ``rows`` long each."""
    cleaned: dict[str, Cleaned] = {
        column.name: clean_column(column, columns[column.name], csv) for column in domain.modelled
    }
    if domain.privacy_unit is not None:
        cleaned[domain.privacy_unit] = clean_unit(domain.privacy_unit, columns[domain.privacy_unit], csv)
    refused: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
    refusals: Counter[tuple[str, str]] = Counter()
    problems: list[tuple[int, str, str]] = []
    for name, column in cleaned.items():
        for kind, mask in column.refused.items():
            refused |= mask
            places = np.flatnonzero(mask)
            refusals[name, kind] += len(places)
            problems += [(int(place), name, kind) for place in places[:LISTED_PER_BLOCK]]
    accepted = ~refused
    changes: Counter[tuple[str, str]] = Counter()
    for name, column in cleaned.items():
        for change, mask in column.changed.items():
            if count := int((mask & accepted).sum()):
                changes[name, change] += count
    arrays = [column.values for column in cleaned.values()]
    if refused.any():
        keep = pa.array(accepted)
        arrays = [values.filter(keep) for values in arrays]
    batch = pa.RecordBatch.from_arrays(arrays, schema=storage_schema(domain))
    return CleanBlock(
        batch=batch,
        rows_refused=int(refused.sum()),
        changes=changes,
        refusals=refusals,
        problems=sorted(problems)[:LISTED_PER_BLOCK],
    )
