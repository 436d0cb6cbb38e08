"""Cleaning of numeric, date and datetime columns."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.plan.domain.cleaning.cleaned import Cleaned, as_mask, prepared, wrong_type
from core.plan.domain.cleaning.text import Mask, parse_numbers, parse_times, to_seconds
from core.plan.domain.codec import stand_in_value
from core.plan.domain.columns.bins import Floats
from core.plan.domain.columns.kinds import NumericColumn, TimeColumn
from core.plan.domain.schema import arrow_type
from core.plan.domain.table import CsvFormat


def clean_ordered(
    column: NumericColumn | TimeColumn, raw: pa.Array, csv: CsvFormat | None, *, keep_missing: bool
) -> Cleaned:
    """Numbers and times; with ``keep_missing`` the null policy is left to the caller."""
    typed = not (pa.types.is_string(raw.type) or pa.types.is_large_string(raw.type))
    if pa.types.is_time(raw.type) and isinstance(column, NumericColumn) and column.number_format is not None:
        raw, typed = raw.cast(pa.string()), False
    if typed:
        numbers, unreadable = _read_values(column, raw), None
    else:
        texts = prepared(raw.cast(pa.string()), csv)
        numbers, unreadable = _read_text(column, texts, csv)
    if not numbers.flags.writeable:
        numbers = numbers.copy()
    if typed and csv is not None:
        numbers[np.isin(numbers, _null_numbers(column, csv))] = np.nan
    cleaned = Cleaned(raw)
    missing = _apply_bounds(column, numbers, unreadable, cleaned)
    return _finish_ordered(column, numbers, None if keep_missing else missing, missing, cleaned)


def _finish_ordered(
    column: NumericColumn | TimeColumn,
    numbers: Floats,
    policy_for: Mask | None,
    missing: Mask,
    cleaned: Cleaned,
) -> Cleaned:
    kind = arrow_type(column)
    width = {"int64": np.int64, "double": np.float64, "date32[day]": np.int32}.get(str(kind), np.int64)
    mask = missing if missing.any() else None
    safe = np.where(missing, 0, numbers) if mask is not None else numbers
    cleaned.values = pa.array(safe.astype(width), mask=mask)
    if str(kind) not in {"int64", "double"}:
        cleaned.values = cleaned.values.cast(kind)
    if policy_for is not None and mask is not None:
        _apply_null_policy(column, policy_for, cleaned)
    return cleaned


def _apply_null_policy(column: NumericColumn | TimeColumn, missing: Mask, cleaned: Cleaned) -> None:
    if column.null.action == "refuse":
        refused = np.logical_or.reduce([*cleaned.refused.values(), np.zeros(len(missing), dtype=bool)])
        cleaned.refuse("missing-value", missing & ~refused)
    elif column.null.action == "use":
        cleaned.change("null-replaced", missing)
        cleaned.values = pc.fill_null(cleaned.values, stand_in_value(column)[0])


def _read_text(
    column: NumericColumn | TimeColumn, texts: pa.Array, csv: CsvFormat | None
) -> tuple[Floats, Mask | None]:
    if isinstance(column, NumericColumn):
        mark = "." if csv is None else csv.decimal_mark
        if column.number_format is not None:
            return parse_numbers(column.number_format.plain(texts, decimal_mark=mark))
        return parse_numbers(texts, decimal_mark=mark)
    values, unreadable = parse_times(texts, format_=column.format, days=column.kind == "date")
    numbers: Floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers, unreadable


def _null_numbers(column: NumericColumn | TimeColumn, csv: CsvFormat) -> Floats:
    """The texts for "missing" parsed as numbers or times: a typed column treats them as missing, like text."""
    values = _read_text(column, pa.array(csv.null_values, pa.string()), csv)[0]
    return values[~np.isnan(values)]


def _read_values(column: NumericColumn | TimeColumn, raw: pa.Array) -> Floats:
    kind = raw.type
    if isinstance(column, NumericColumn):
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
                raise wrong_type(column.name)
            raw = raw.cast(pa.int8())
        numbers: Floats = raw.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return numbers
    if pa.types.is_date(kind) or pa.types.is_null(kind):
        raw = raw.cast(pa.timestamp("s"))
    if not pa.types.is_timestamp(raw.type):
        raise wrong_type(column.name)
    seconds: Floats = to_seconds(raw).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.floor(seconds / column.seconds_per_unit)


def _apply_bounds(
    column: NumericColumn | TimeColumn, numbers: Floats, unreadable: Mask | None, cleaned: Cleaned
) -> Mask:
    """Apply the declared rules in place.

    Returns:
        Which values are missing, also by rule.
    """
    missing = np.isnan(numbers)
    if unreadable is not None:
        if column.unreadable == "refuse":
            cleaned.refuse("not-a-number" if column.kind == "numeric" else "not-a-date", unreadable)
            missing &= ~unreadable
            numbers[unreadable] = column.lower
        else:
            cleaned.change("mapped-to-null", unreadable)
    special = np.isin(numbers, column.specials) if column.specials else np.zeros(len(numbers), dtype=bool)
    if isinstance(column, NumericColumn):
        missing |= _apply_infinity(column, numbers, cleaned)
        if column.integer:
            _apply_fractions(column, numbers, missing, cleaned)
    beyond = ((numbers < column.lower) | (numbers > column.upper)) & ~special & ~missing
    if beyond.any():
        if column.outside == "clamp":
            cleaned.change("clamped", beyond)
            np.clip(numbers, column.lower, column.upper, out=numbers, where=beyond)
        elif column.outside == "null":
            cleaned.change("mapped-to-null", beyond)
            missing |= beyond
        else:
            cleaned.refuse("outside-bounds", beyond)
            numbers[beyond] = column.lower
    return missing


def _apply_infinity(column: NumericColumn, numbers: Floats, cleaned: Cleaned) -> Mask:
    infinite = np.isinf(numbers)
    nothing = np.zeros_like(infinite)
    if not infinite.any():
        return nothing
    if column.infinite == "null":
        cleaned.change("mapped-to-null", infinite)
        return infinite
    if column.infinite == "refuse":
        cleaned.refuse("infinite", infinite)
    else:
        cleaned.change("clamped", infinite)
    np.clip(numbers, column.lower, column.upper, out=numbers, where=infinite)
    return nothing


def _apply_fractions(column: NumericColumn, numbers: Floats, missing: Mask, cleaned: Cleaned) -> None:
    rounded = np.rint(numbers)
    broken = (rounded != numbers) & ~missing
    if broken.any():
        if column.fraction == "round":
            cleaned.change("rounded", broken)
        else:
            cleaned.refuse("not-an-integer", broken)
        numbers[broken] = rounded[broken]


def spread(distinct: Cleaned, indices: pa.Array, column: NumericColumn | TimeColumn) -> Cleaned:
    """Expand the results for distinct texts to rows, then apply the null policy."""
    places = pc.fill_null(indices.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    present = as_mask(pc.is_valid(indices))
    cleaned = Cleaned(distinct.values.take(indices))
    for refusal, rows in distinct.refused.items():
        cleaned.refuse(refusal, rows[places] & present)
    for change, rows in distinct.changed.items():
        cleaned.change(change, rows[places] & present)
    missing = as_mask(pc.is_null(cleaned.values))
    if missing.any():
        _apply_null_policy(column, missing, cleaned)
    return cleaned
