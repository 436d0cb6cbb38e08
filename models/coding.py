"""Coding: stored rows become the coded table or the images that a synthesizer trains on, each row by itself."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.plan.domain.codec import Codes, codes_type, encode
from core.plan.domain.forbidden import forbidden_pairs
from core.plan.domain.images import LABEL, PIXELS, ImageDomain
from core.plan.domain.table import TableDomain
from models.counting.units import unit_tags, weights_among
from models.encoding import PrivateImages, PrivateTable, codes_alone


def coded_table(
    batches: Iterable[pa.RecordBatch], domain: TableDomain, *, bound: int | None = None, key: bytes = b""
) -> PrivateTable:
    """Encode every batch and number the privacy units in the order in which they first appear.

    Args:
        batches: Clean rows with `storage_schema(domain)`.
        bound: How many records of a unit to keep, drawn by `key`; None keeps all.
        key: `models.counting.units.UNIT_KEY_BYTES` random bytes where there is a bound.
    """
    codes: list[Codes] = []
    units: list[pa.Array] = []
    for batch in batches:
        codes.append(encode(domain, batch))
        if domain.privacy_unit is not None:
            units.append(batch.column(domain.privacy_unit))
    records: Codes = np.concatenate(
        [np.empty((0, len(domain.coded)), codes_type(domain.cardinalities)), *codes]
    )
    owners = np.arange(len(records)) if domain.privacy_unit is None else _numbered(units)
    if bound is not None:
        tags = [unit_tags(names, key) for names in units]
        kept = weights_among(np.concatenate([np.empty((0, 2), np.uint64), *tags]), bound) > 0
        records, owners = records[kept], owners[kept]
    return PrivateTable(
        codes=records,
        unit_of_record=owners,
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
        ordered=domain.ordered,
        record_bound=bound,
        alone=codes_alone(domain),
        forbidden=partial(forbidden_pairs, domain),
    )


def coded_images(batches: Iterable[pa.RecordBatch], domain: ImageDomain) -> PrivateImages:
    """Put all images into one array and number the privacy units in the order in which they first appear.

    Args:
        batches: Images with `storage_schema(domain)`.
    """
    shape = (0, domain.height, domain.width, domain.channels)
    pixels: list[npt.NDArray[np.uint8]] = [np.empty(shape, np.uint8)]
    labels: list[npt.NDArray[np.int16]] = [np.empty(0, np.int16)]
    units: list[pa.Array] = []
    for batch in batches:
        pixels.append(_values(batch.column(PIXELS)).reshape(-1, *shape[1:]))
        labels.append(batch.column(LABEL).to_numpy(zero_copy_only=False))
        if domain.privacy_unit is not None:
            units.append(batch.column(domain.privacy_unit))
    images = np.concatenate(pixels)
    return PrivateImages(
        pixels=images,
        labels=np.concatenate(labels),
        unit_of_record=np.arange(len(images)) if domain.privacy_unit is None else _numbered(units),
        classes=len(domain.labels),
    )


def joined(parts: Sequence[PrivateTable | PrivateImages]) -> PrivateTable | PrivateImages:
    """Put the records of several owners, at least one, under one declared domain into one value, in the order given. A unit of one owner is none of another's."""
    first = parts[0]
    firsts = np.cumsum([0, *(part.units for part in parts[:-1])])
    units = np.concatenate(
        [part.unit_of_record + start for part, start in zip(parts, firsts, strict=True)]
    ).astype(np.int64)
    if isinstance(first, PrivateTable):
        codes = np.concatenate([part.codes for part in parts if isinstance(part, PrivateTable)])
        return replace(first, codes=codes, unit_of_record=units)
    images = [part for part in parts if isinstance(part, PrivateImages)]
    return replace(
        first,
        pixels=np.concatenate([part.pixels for part in images]),
        labels=np.concatenate([part.labels for part in images]),
        unit_of_record=units,
    )


def _values(column: pa.FixedSizeBinaryArray) -> npt.NDArray[np.uint8]:
    """The bytes of a column of fixed width, one after the other."""
    width = column.type.byte_width
    if not len(column):
        return np.empty(0, np.uint8)
    start = column.offset * width
    return np.frombuffer(column.buffers()[1], np.uint8)[start : start + len(column) * width]


def _numbered(units: list[pa.Array]) -> npt.NDArray[np.int64]:
    """Number the units 0, 1, ... by first appearance."""
    encoded = pc.dictionary_encode(pa.chunked_array(units, pa.string())).combine_chunks()
    numbers: npt.NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
