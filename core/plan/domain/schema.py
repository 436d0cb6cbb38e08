"""Arrow types of a domain, for stored (sealed) and for sampled rows."""

from typing import Final

import pyarrow as pa

from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn
from core.plan.domain.declared import Domain
from core.plan.domain.images import LABEL, PIXELS, ImageDomain
from core.plan.domain.table import TableDomain

_PLAIN_WORDS = ("false", "true")
MOST_SHORT_CODES: Final = 32767
"""Largest cardinality whose codes are stored in 16 bits; larger ones take 32."""


def is_plain_boolean(column: LabelColumn) -> bool:
    """Whether a column is stored as an Arrow boolean: its declared words are "false" and "true"."""
    return column.kind == "boolean" and column.labels == _PLAIN_WORDS


def index_type(column: Modelled) -> pa.DataType:
    """The integers that hold a column's codes: int16, or int32 where there are more than `MOST_SHORT_CODES`."""
    return pa.int16() if column.cardinality <= MOST_SHORT_CODES else pa.int32()


def arrow_type(column: Modelled) -> pa.DataType:
    """int64, float64, date32, timestamp in seconds, bool, or a dictionary of the declared words."""
    if isinstance(column, NumericColumn):
        return pa.int64() if column.integer else pa.float64()
    if isinstance(column, LabelColumn):
        return pa.bool_() if is_plain_boolean(column) else pa.dictionary(index_type(column), pa.string())
    return pa.date32() if column.kind == "date" else pa.timestamp("s")


def sample_schema(domain: TableDomain) -> pa.Schema:
    """Schema of synthetic rows: the modelled columns."""
    return pa.schema([pa.field(column.name, arrow_type(column)) for column in domain.modelled])


def image_schema(domain: ImageDomain) -> pa.Schema:
    """Schema of images: their bytes by row, pixel of the row, channel; and the code of their label, 0 if there is none."""
    return pa.schema(
        [
            pa.field(PIXELS, pa.binary(domain.values), nullable=False),
            pa.field(LABEL, pa.int16(), nullable=False),
        ]
    )


def _stored_columns(domain: TableDomain) -> pa.Schema:
    """The sampled type, except for columns whose categories are learnt: these store text unchanged."""
    return pa.schema(
        [
            pa.field(column.name, pa.string() if "categories" in column.learn else arrow_type(column))
            for column in domain.modelled
        ]
    )


def storage_schema(domain: Domain) -> pa.Schema:
    """Schema of stored rows: the modelled columns or the image, then the privacy unit's column as text if there is one."""
    schema = image_schema(domain) if isinstance(domain, ImageDomain) else _stored_columns(domain)
    if domain.privacy_unit is None:
        return schema
    return schema.append(pa.field(domain.privacy_unit, pa.string(), nullable=False))
