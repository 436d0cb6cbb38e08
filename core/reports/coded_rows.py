"""Encode stored rows as the codes that reports compare; row by row, without learning anything from them."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.domain.codec import Codes, codes_type, encode
from core.domain.table import TableDomain


def coded_rows(batches: Iterable[pa.RecordBatch], domain: TableDomain) -> tuple[Codes, NDArray[np.int64]]:
    """Encode every batch and number the privacy units.

    Args:
        batches: clean rows with `storage_schema(domain)`.
        domain: the declared domain.

    Returns:
        (rows, columns) codes, and (rows,) the unit of every row.
    """
    codes: list[Codes] = [np.empty((0, len(domain.coded)), codes_type(domain.cardinalities))]
    units = []
    for batch in batches:
        codes.append(encode(domain, batch))
        if domain.privacy_unit is not None:
            units.append(batch.column(domain.privacy_unit))
    records: Codes = np.concatenate(codes)
    if domain.privacy_unit is None:
        return records, np.arange(len(records))
    numbered = pc.dictionary_encode(pa.chunked_array(units, pa.string())).combine_chunks().indices
    return records, numbered.to_numpy(zero_copy_only=False).astype(np.int64)
