"""The result of cleaning a column: the clean values, and the rows that were refused or changed, by kind."""

from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from core.plan.domain.cleaning.text import Mask
from core.plan.domain.errors import DomainMismatch
from core.plan.domain.table import CsvFormat

Refusal = Literal[
    "missing-value", "not-a-number", "not-an-integer", "infinite", "outside-bounds", "not-a-date", "unknown-category",
    "unit-too-long", "wrong-number-of-fields",
]  # fmt: skip
Change = Literal["clamped", "rounded", "mapped-to-other", "mapped-to-null", "null-replaced"]


@dataclass(slots=True)
class Cleaned:
    """One clean column and what happened to its values.

    Attributes:
        values: Array of the stored type; arbitrary (or null) where the row is refused.
        refused: Rows to refuse, by kind; shape (rows,) each.
        changed: Values changed by rule, by kind; shape (rows,) each.
    """

    values: pa.Array
    refused: dict[Refusal, Mask] = field(default_factory=dict)
    changed: dict[Change, Mask] = field(default_factory=dict)

    def refuse(self, kind: Refusal, rows: Mask) -> None:
        """Refuse rows, if any."""
        if rows.any():
            self.refused[kind] = self.refused[kind] | rows if kind in self.refused else rows

    def change(self, kind: Change, rows: Mask) -> None:
        """Count changed values, if any."""
        if rows.any():
            self.changed[kind] = self.changed[kind] | rows if kind in self.changed else rows


def prepared(texts: pa.Array, csv: CsvFormat | None) -> pa.Array:
    """Strip texts and null those that mean "missing", as the format of CSV files says; None leaves texts as they are."""
    if csv is None:
        return texts
    if csv.strip_spaces:
        texts = pc.utf8_trim_whitespace(texts)
    if not csv.null_values:
        return texts
    missing = pc.is_in(texts, value_set=pa.array(csv.null_values, texts.type))
    return pc.if_else(missing, None, texts) if pc.any(missing).as_py() else texts


def as_mask(values: pa.Array) -> Mask:
    """Numpy booleans of an Arrow array of booleans; null counts as False."""
    found: Mask = pc.fill_null(values, fill_value=False).to_numpy(zero_copy_only=False)
    return found


def as_text(name: str, raw: pa.Array) -> pa.Array:
    """Strings of strings, booleans or numbers; whole floats are written like integers, and NaN is missing."""
    if pa.types.is_dictionary(raw.type):
        raw = raw.cast(raw.type.value_type)
    if pa.types.is_floating(raw.type):
        raw = pc.if_else(pc.is_nan(raw), pa.scalar(None, raw.type), raw)
        whole = raw.cast(pa.int64(), safe=False)
        exact = pc.equal(whole.cast(pa.float64(), safe=False), raw.cast(pa.float64()))
        return pc.if_else(exact, whole.cast(pa.string()), raw.cast(pa.string()))
    try:
        return raw.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise wrong_type(name) from None


def wrong_type(name: str) -> DomainMismatch:
    """The error for a Parquet column whose type does not fit its declaration."""
    return DomainMismatch(
        f"The type of the file's column '{name}' cannot be read as declared.", column=name,
        remedy="Declare another kind, or write the column as text.",
    )  # fmt: skip
