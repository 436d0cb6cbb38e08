"""Row-local validation: raw columns of a file to clean, typed columns, by the declared policies.

Every rule depends on one value of one row only: adding or removing a record changes nothing about the others. A value is kept, changed by a declared rule (and counted), or its row is refused (and listed). Values appear
in no result except the clean columns.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core.plan.domain.cleaning.cleaned import Cleaned, as_mask, as_text, prepared, wrong_type
from core.plan.domain.cleaning.labels import clean_labels
from core.plan.domain.cleaning.ordered import clean_ordered, spread
from core.plan.domain.columns.kinds import LabelColumn, Modelled
from core.plan.domain.table import CsvFormat

LONGEST_UNIT_BYTES: Final = 256


def clean_column(column: Modelled, raw: pa.Array, csv: CsvFormat | None = None) -> Cleaned:
    """Clean one modelled column.

    Args:
        raw: Its values: strings (plain or dictionary), or the types of a Parquet file.
        csv: How text is prepared, or None to use it unchanged, as in Parquet files.

    Raises:
        DomainMismatch: values of this Arrow type cannot be read as this kind of column.
    """
    if pa.types.is_nested(raw.type):
        raise wrong_type(column.name)
    if isinstance(column, LabelColumn):
        return clean_labels(column, raw, csv)
    if pa.types.is_dictionary(raw.type):  # read each distinct text once
        return spread(clean_ordered(column, raw.dictionary, csv, keep_missing=True), raw.indices, column)
    return clean_ordered(column, raw, csv, keep_missing=False)


def clean_unit(name: str, raw: pa.Array, csv: CsvFormat | None = None) -> Cleaned:
    """Clean the privacy unit's column: text of at most 256 bytes, never missing or empty: records without a unit are not those of one unit."""
    texts = prepared(as_text(name, raw), csv)
    cleaned = Cleaned(texts)
    cleaned.refuse("missing-value", as_mask(pc.or_kleene(pc.is_null(texts), pc.equal(texts, ""))))
    cleaned.refuse("unit-too-long", as_mask(pc.greater(pc.binary_length(texts), LONGEST_UNIT_BYTES)))
    return cleaned
