"""Arrow types of a domain: what is stored (sealed) and what is sampled."""

import pyarrow as pa

from core.domain.columns import LabelColumn, Modelled, NumericColumn
from core.domain.table import TableDomain

_PLAIN_WORDS = ("false", "true")


def is_plain_boolean(column: LabelColumn) -> bool:
    """Whether a column is stored as an Arrow boolean: its declared words are "false" and "true"."""
    return column.kind == "boolean" and column.labels == _PLAIN_WORDS


def arrow_type(column: Modelled) -> pa.DataType:
    """int64, float64, date32, timestamp in seconds, bool, or a dictionary of the declared words."""
    if isinstance(column, NumericColumn):
        return pa.int64() if column.integer else pa.float64()
    if isinstance(column, LabelColumn):
        return pa.bool_() if is_plain_boolean(column) else pa.dictionary(pa.int16(), pa.string())
    return pa.date32() if column.kind == "date" else pa.timestamp("s")


def sample_schema(domain: TableDomain) -> pa.Schema:
    """Schema of synthetic rows: the modelled columns."""
    return pa.schema([pa.field(column.name, arrow_type(column)) for column in domain.modelled])


def storage_schema(domain: TableDomain) -> pa.Schema:
    """Schema of stored rows: the modelled columns, then the privacy unit's column as text if there is one."""
    schema = sample_schema(domain)
    if domain.privacy_unit is None:
        return schema
    return schema.append(pa.field(domain.privacy_unit, pa.string(), nullable=False))
