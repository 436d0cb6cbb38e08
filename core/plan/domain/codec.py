"""Rows to codes and back, vectorised per column.

``encode(decode(codes)) == codes``, except for the code of a pattern that no time of the bin has
(``core.plan.domain.columns.patterns``). ``decode(encode(values))`` gives each value back as some value of the same bin.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.plan.domain.columns.bins import Floats, Integers
from core.plan.domain.columns.differences import add_starts, distances
from core.plan.domain.columns.kinds import (
    LabelColumn,
    Modelled,
    NumericColumn,
    OrderedColumn,
    Pattern,
    TimeColumn,
    pattern_column,
)
from core.plan.domain.errors import DomainMismatch
from core.plan.domain.schema import MOST_SHORT_CODES, arrow_type, index_type, is_plain_boolean, sample_schema
from core.plan.domain.table import TableDomain

Codes = NDArray[np.int16 | np.int32]
"""int16, or int32 where some column has more codes than 16 bits hold (`codes_type`)."""
CodesType = type[np.int16] | type[np.int32]
_UNSET: Final = -1


def codes_type(cardinalities: Sequence[int]) -> CodesType:
    """The integers that hold the codes of every column of a table: int16, or int32 where one has too many."""
    return np.int16 if max(cardinalities, default=0) <= MOST_SHORT_CODES else np.int32


def encode(domain: TableDomain, batch: pa.RecordBatch) -> Codes:
    """Codes of a batch that has at least the modelled columns; other columns are ignored.

    Values beyond the bounds fall into the outer bins, values that are not listed into "other" (or null). Intake has
    already applied the declared policies; this only keeps the function total.

    Args:
        batch: Rows with the types of ``storage_schema``, or types that cast to them without loss.

    Returns:
        codes of `codes_type`, shape (rows, coded columns), C order.

    Raises:
        DomainMismatch: a column is missing, or holds a value for which the column has no code.
    """
    codes: Codes = np.empty((batch.num_rows, len(domain.coded)), dtype=codes_type(domain.cardinalities))
    for place in range(len(domain.coded)):
        codes[:, place] = encode_place(domain, place, batch)
    return codes


def encode_place(domain: TableDomain, place: int, batch: pa.RecordBatch) -> Integers:
    """Codes of one of the coded columns; see ``encode``."""
    modelled = len(domain.modelled)
    column = domain.modelled[place] if place < modelled else domain.patterns[place - modelled][0]
    if column.difference is not None:
        (difference,) = (one for one in domain.differences if one["place"] == place)
        start, end = (_known_numbers(domain.modelled[at], batch) for at in (difference["start"], place))
        return _ordered_codes(column.difference.coded, distances(start, end, difference))
    if place < modelled:
        return encode_column(column, _of(batch, column))
    time, pattern = domain.patterns[place - modelled]
    return _pattern_codes(time, pattern, numbers_of(time, _of(batch, time)))


def _known_numbers(column: Modelled, batch: pa.RecordBatch) -> Floats:
    """The values of a number or time, with the replacement declared for missing ones."""
    assert isinstance(column, (NumericColumn, TimeColumn)), "labels have no difference"
    return _with_stand_in(column, numbers_of(column, _of(batch, column)))


def _of(batch: pa.RecordBatch, column: Modelled) -> pa.Array:
    """The values of a column."""
    position = batch.schema.get_field_index(column.name)
    if position < 0:
        raise DomainMismatch(f"The column '{column.name}' is missing.", column=column.name)
    return batch.column(position)


def encode_column(column: Modelled, values: pa.Array) -> Integers:
    """Codes of one column; see ``encode``."""
    if isinstance(column, LabelColumn):
        return _filled(column, _label_codes(column, values))
    return _ordered_codes(column, numbers_of(column, values))


def _ordered_codes(column: NumericColumn | TimeColumn, numbers: Floats) -> Integers:
    """Codes of numbers; NaN is a missing value."""
    codes = column.bins.encode(np.nan_to_num(numbers, nan=0.0)) + len(column.specials)
    for code, special in enumerate(column.specials):
        codes[numbers == special] = code
    codes[np.isnan(numbers)] = _UNSET
    return _filled(column, codes)


def _pattern_codes(column: TimeColumn, pattern: Pattern, numbers: Floats) -> Integers:
    """Codes of one pattern of times; NaN is a missing time."""
    numbers = _with_stand_in(column, numbers)
    known = np.nan_to_num(numbers, nan=float(column.lower))
    codes = column.patterned.codes_of(pattern, column.bins.encode(known), known)
    codes[np.isnan(numbers)] = _UNSET
    return _filled(pattern_column(column, pattern), codes)


def _with_stand_in(column: NumericColumn | TimeColumn, numbers: Floats) -> Floats:
    """Replace missing values as declared; they stay NaN if missing values are not replaced."""
    if column.null.action != "use":
        return numbers
    stand_in = numbers_of(column, stand_in_value(column))[0]
    return np.where(np.isnan(numbers), stand_in, numbers)


def _label_codes(column: LabelColumn, values: pa.Array) -> Integers:
    if pa.types.is_boolean(values.type):
        words = ["false", "true"] if is_plain_boolean(column) else list(column.labels)
        values = pa.DictionaryArray.from_arrays(values.cast(pa.int8()), words)
    if not pa.types.is_dictionary(values.type):
        values = pc.dictionary_encode(values)
    listed = pc.index_in(values.dictionary.cast(pa.string()), pa.array(column.words))
    fallback = column.other_code if column.other_code is not None else _UNSET
    table = np.append(pc.fill_null(listed, fallback).to_numpy(zero_copy_only=False).astype(np.int64), _UNSET)
    indices = pc.fill_null(values.indices.cast(pa.int64()), len(table) - 1).to_numpy(zero_copy_only=False)
    codes: Integers = table[indices]
    return codes


def numbers_of(column: NumericColumn | TimeColumn, values: pa.Array) -> Floats:
    """float64 values, NaN for null; times as days or seconds."""
    if isinstance(column, TimeColumn):
        values = values.cast(arrow_type(column)).cast(pa.int32() if column.kind == "date" else pa.int64())
    numbers: Floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _filled(column: Modelled, codes: Integers) -> Integers:
    """Give missing values the null code, or the code of their declared replacement."""
    missing = codes == _UNSET
    if not missing.any():
        return codes
    if column.null.action == "use":
        stand_in = encode_column(column, stand_in_value(column))
        return np.where(missing, stand_in[0], codes)
    if column.null_code is None:
        raise DomainMismatch(
            f"The column '{column.name}' has no code for a missing value.", column=column.name
        )
    return np.where(missing, column.null_code, codes)


def stand_in_value(column: Modelled) -> pa.Array:
    """The value declared for missing ones (null policy "use") as an Arrow array of one element."""
    assert column.null.action == "use"
    if isinstance(column, TimeColumn):
        width = pa.int32() if column.kind == "date" else pa.int64()
        return pa.array([int(column.null.value or 0)], width).cast(arrow_type(column))
    if isinstance(column, NumericColumn):
        return pa.array([column.null.value], pa.float64()).cast(arrow_type(column))
    return pa.array([column.null.value], pa.string())


def decode(domain: TableDomain, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.RecordBatch:
    """Rows of codes: the value of a category, a value drawn uniformly inside a bin. Rules between columns are not applied.

    Args:
        codes: Shape (rows, coded columns), each within its column's cardinality.
        rng: Source of the uniform numbers; one draw per row and ordered column, in column order.

    Returns:
        A batch with ``sample_schema(domain)``; lists of words are dictionary arrays.

    Raises:
        DomainMismatch: wrong number of columns, or a code beyond a cardinality.
    """
    return batch_of(domain, draw_values(domain, codes, rng))


def draw_values(domain: TableDomain, codes: NDArray[np.integer], rng: np.random.Generator) -> list[Floats]:
    """The values of ``decode`` before they become Arrow arrays: numbers, the indices of words in their lists, NaN for null.

    Returns:
        One array of shape (rows,) for each modelled column.
    """
    by_column = dict(_by_column(domain, codes))
    values = [
        _drawn_with_patterns(column, by_column, rng)
        if isinstance(column, TimeColumn) and column.patterns
        else _drawn(column, by_column[column.name], rng)
        for column in domain.coded_columns
    ]
    add_starts(values, domain.differences)
    return values


def _by_column(domain: TableDomain, codes: NDArray[np.integer]) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Names of the coded columns with their codes, checked one by one."""
    if codes.ndim != 2 or codes.shape[1] != len(domain.coded):  # noqa: PLR2004 (a matrix)
        raise DomainMismatch(f"Codes of {len(domain.coded)} columns are needed.")
    for index, column in enumerate(domain.coded):
        own = np.ascontiguousarray(codes[:, index])
        if len(own) and not 0 <= own.min() <= own.max() < column.cardinality:
            raise DomainMismatch(f"A code of '{column.name}' is beyond its cardinality.", column=column.name)
        yield column.name, own


def batch_of(domain: TableDomain, values: Sequence[Floats]) -> pa.RecordBatch:
    """Rows of the values that ``draw_values`` returns."""
    arrays = [_array(column, own) for column, own in zip(domain.modelled, values, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=sample_schema(domain))


def codes_of(domain: TableDomain, values: Sequence[Floats]) -> Codes:
    """Codes of the values that ``draw_values`` returns; shape (rows, coded columns)."""
    codes: Codes = np.empty((len(values[0]), len(domain.coded)), dtype=codes_type(domain.cardinalities))
    by_name = {}
    for index, (column, own) in enumerate(zip(domain.modelled, values, strict=True)):
        by_name[column.name] = own
        if column.difference is not None:
            continue
        if isinstance(column, LabelColumn):
            codes[:, index] = _filled(column, np.nan_to_num(own, nan=_UNSET).astype(np.int64))
        else:
            codes[:, index] = _ordered_codes(column, own)
    for difference in domain.differences:
        place = difference["place"]
        apart = distances(values[difference["start"]], values[place], difference)
        codes[:, place] = _ordered_codes(domain.coded_columns[place], apart)
    for index, (time, pattern) in enumerate(domain.patterns, len(domain.modelled)):
        codes[:, index] = _pattern_codes(time, pattern, by_name[time.name])
    return codes


def decode_column(column: Modelled, codes: NDArray[np.integer], rng: np.random.Generator) -> pa.Array:
    """Values of one column; see ``decode``."""
    return _array(column, _drawn(column, codes, rng))


def _drawn(column: Modelled, codes: NDArray[np.integer], rng: np.random.Generator) -> Floats:
    if isinstance(column, LabelColumn):
        values = codes.astype(np.float64)
    else:
        values = _ordered_values(column, codes, rng)
    if column.null_code is not None:
        values[codes == column.null_code] = np.nan
    return values


def _drawn_with_patterns(
    column: TimeColumn, codes: Mapping[str, NDArray[np.integer]], rng: np.random.Generator
) -> Floats:
    """Times of the bins that agree with the codes of the column's patterns."""
    own = codes[column.name]
    bins = np.clip(own.astype(np.int64), 0, column.bins.count - 1)
    pattern_codes = [codes[f"{column.name}.{pattern}"].astype(np.int64) for pattern in column.patterns]
    values = column.patterned.draw(bins, pattern_codes, rng.random(len(own)))
    if column.null_code is not None:
        values[own == column.null_code] = np.nan
    return values


def _array(column: Modelled, values: Floats) -> pa.Array:
    missing = None
    if column.null_code is not None:
        missing = np.isnan(values)
        values = np.where(missing, 0, values)
    if isinstance(column, LabelColumn):
        if is_plain_boolean(column):
            return pa.array(values == 1, mask=missing)
        return pa.DictionaryArray.from_arrays(
            pa.array(values.astype(np.int32), mask=missing).cast(index_type(column)), list(column.words)
        )
    if column.kind == "numeric":
        return pa.array(values.astype(np.int64) if column.integer else values, mask=missing)
    whole = values.astype(np.int32 if column.kind == "date" else np.int64)
    return pa.array(whole, mask=missing).cast(arrow_type(column))


def _ordered_values(column: OrderedColumn, codes: NDArray[np.integer], rng: np.random.Generator) -> Floats:
    """Values of the codes; arbitrary numbers for null."""
    specials = len(column.specials)
    uniforms = rng.random(len(codes))
    bins = codes.astype(np.int64) - specials
    if specials == 0 and column.null_code is None:
        return column.bins.decode(bins, uniforms)
    values = column.bins.decode(np.clip(bins, 0, column.bins.count - 1), uniforms)
    for code, special in enumerate(column.specials):
        values[codes == code] = special
    return values
