"""Cleaning of categorical, ordinal and boolean columns: texts to codes of the declared list."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.plan.domain.cleaning.cleaned import Cleaned, as_mask, as_text, prepared
from core.plan.domain.columns.bins import Integers
from core.plan.domain.columns.kinds import LabelColumn, Prefix
from core.plan.domain.columns.prefixes import LEADING_LETTERS, LETTERS
from core.plan.domain.schema import index_type, is_plain_boolean
from core.plan.domain.table import CsvFormat

LONGEST_CATEGORY_BYTES: Final = 200
"""Maximum length of a learnt category in UTF-8."""
_MISSING: Final = -1
_UNKNOWN: Final = -2


def clean_labels(column: LabelColumn, raw: pa.Array, csv: CsvFormat | None) -> Cleaned:
    """Clean a column whose values come from a declared list; see ``core.plan.domain.cleaning.column.clean_column``."""
    if column.learn:
        return _clean_any_text(column, raw, csv)
    if pa.types.is_boolean(raw.type) and column.kind == "boolean":
        raw = pa.DictionaryArray.from_arrays(raw.cast(pa.int8()), list(column.labels))
        csv = None
    if not pa.types.is_dictionary(raw.type):
        raw = pc.dictionary_encode(raw)
    cleaned = Cleaned(raw)
    codes = _apply_unknown(column, _codes(column, raw, csv), cleaned)
    missing = codes < 0
    if missing.any():
        if column.null.action == "use":
            cleaned.change("null-replaced", missing)
            codes = np.where(missing, column.words.index(str(column.null.value)), codes)
            missing = np.zeros_like(missing)
        elif column.null.action == "refuse":
            cleaned.refuse("missing-value", missing)
    if is_plain_boolean(column):
        cleaned.values = pa.array(codes == 1, mask=missing)
    else:
        indices = pa.array(codes, mask=missing).cast(index_type(column))
        cleaned.values = pa.DictionaryArray.from_arrays(indices, list(column.words))
    return cleaned


def _clean_any_text(column: LabelColumn, raw: pa.Array, csv: CsvFormat | None) -> Cleaned:
    """Texts of a column whose categories are learnt: unchanged, except that too long ones become "other"."""
    texts = _shortened(prepared(as_text(column.name, raw), csv), column.prefix)
    cleaned = Cleaned(texts)
    too_long = as_mask(pc.greater(pc.binary_length(texts), LONGEST_CATEGORY_BYTES))
    if too_long.any():
        cleaned.change("mapped-to-other", too_long)
        cleaned.values = pc.if_else(pa.array(too_long), column.other, texts)
    if column.null.action == "refuse":
        cleaned.refuse("missing-value", as_mask(pc.is_null(cleaned.values)))
    return cleaned


def _shortened(texts: pa.Array, prefix: Prefix | None) -> pa.Array:
    """Shorten each text as `core.plan.domain.columns.prefixes.shortened` does, by Arrow."""
    if prefix is None:
        return texts
    if prefix != LETTERS:
        return pc.utf8_slice_codeunits(texts, 0, int(prefix))
    found = pc.extract_regex(texts, f"^(?P<beginning>{LEADING_LETTERS.pattern})")
    return pc.coalesce(pc.struct_field(found, "beginning"), texts)


def _codes(column: LabelColumn, raw: pa.DictionaryArray, csv: CsvFormat | None) -> Integers:
    """Codes of the rows, _MISSING or _UNKNOWN; each distinct text is looked up once."""
    texts = _shortened(prepared(as_text(column.name, raw.dictionary), csv), column.prefix)
    listed = pc.index_in(texts, value_set=pa.array(column.words))
    found = pc.fill_null(listed, _UNKNOWN).to_numpy(zero_copy_only=False)
    table = np.append(
        np.where(as_mask(pc.is_null(texts)), _MISSING, found), _MISSING
    )  # the last one serves null
    places = pc.fill_null(raw.indices.cast(pa.int64()), len(texts)).to_numpy(zero_copy_only=False)
    codes: Integers = table[places].astype(np.int64)
    return codes


def _apply_unknown(column: LabelColumn, codes: Integers, cleaned: Cleaned) -> Integers:
    unknown = codes == _UNKNOWN
    if not unknown.any():
        return codes
    if column.unknown == "other" and column.other_code is not None:
        cleaned.change("mapped-to-other", unknown)
        return np.where(unknown, column.other_code, codes)
    if column.unknown == "null":
        cleaned.change("mapped-to-null", unknown)
        return np.where(unknown, _MISSING, codes)
    cleaned.refuse("unknown-category", unknown)
    return np.where(unknown, 0, codes)
