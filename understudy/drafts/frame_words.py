"""Advice on frames in the words of the reader's library: lines of Python for a table called `frame`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameWords:
    """A library's expressions for a draft's advice.

    Attributes:
        column: Expression for a column; `{name}` is its quoted name.
        assign: Line that replaces a column, with `{name}` and `{expression}`.
        add: Line that adds a column, with the same placeholders.
        times: Expression for a column times a number, with `{column}` and `{factor}`.
        lower: Expression for words in lower case, with `{column}`.
        with_point: Expression for the numbers of texts such as "$1,234.50", with `{column}`.
        with_comma: Expression for the numbers of texts such as "1.234,50", with `{column}`.
        as_text: Call that reads a CSV file with one column as text, with `{name}`.
        unreadable: A sentence on how to convert types that intake cannot read.
    """

    library: str
    column: str
    assign: str
    add: str
    times: str
    lower: str
    with_point: str
    with_comma: str
    as_text: str
    unreadable: str

    def of(self, name: str) -> str:
        """The expression for a column."""
        # Column names may contain braces; `format` leaves braces in inserted text alone.
        return self.column.format(name=repr(name))

    def changed(self, name: str, form: str) -> str:
        """The line that replaces a column by an expression, one of those above."""
        return self.assign.format(name=repr(name), expression=form.format(column=self.of(name)))

    def copied(self, name: str, of: str, factor: float) -> str:
        """The line that adds a column as another one times a number."""
        column = self.of(of)
        expression = column if factor == 1 else self.times.format(column=column, factor=f"{factor:.10g}")
        return self.add.format(name=repr(name), expression=expression)

    def read_as_text(self, name: str) -> str:
        """The call that reads a file with one column as text."""
        return self.as_text.format(name=repr(name))


PANDAS: Final = FrameWords(
    library="pandas",
    column="frame[{name}]",
    assign="frame[{name}] = {expression}",
    add="frame[{name}] = {expression}",
    times="{column} * {factor}",
    lower="{column}.str.lower()",
    with_point="{column}.str.replace('[^0-9.-]', '', regex=True).astype(float)",
    with_comma="{column}.str.replace('[^0-9,-]', '', regex=True).str.replace(',', '.').astype(float)",
    as_text="read_csv(..., dtype={{{name}: str}})",
    unreadable="`.dt.total_seconds()` makes lengths of time numbers, and `.astype(str)` makes intervals and periods words",
)
POLARS: Final = FrameWords(
    library="polars",
    column="pl.col({name})",
    assign="frame = frame.with_columns({expression})",
    add="frame = frame.with_columns(({expression}).alias({name}))",
    times="{column} * {factor}",
    lower="{column}.str.to_lowercase()",
    with_point="{column}.str.replace_all('[^0-9.-]', '').cast(pl.Float64)",
    with_comma="{column}.str.replace_all('[^0-9,-]', '').str.replace(',', '.').cast(pl.Float64)",
    as_text="pl.read_csv(..., schema_overrides={{{name}: pl.String}})",
    unreadable="`.dt.total_seconds()` makes lengths of time numbers, and `.list.join(' ')` makes lists words",
)
ARROW: Final = FrameWords(
    library="pyarrow",
    column="frame[{name}]",
    assign="frame = frame.set_column(frame.column_names.index({name}), {name}, {expression})",
    add="frame = frame.append_column({name}, {expression})",
    times="pc.multiply({column}, {factor})",
    lower="pc.utf8_lower({column})",
    with_point="pc.cast(pc.replace_substring_regex({column}, '[^0-9.-]', ''), 'double')",
    with_comma="pc.cast(pc.replace_substring(pc.replace_substring_regex({column}, '[^0-9,-]', ''), ',', '.'), 'double')",
    as_text="csv.read_csv(..., convert_options=csv.ConvertOptions(column_types={{{name}: 'string'}}))",
    unreadable="`pc.cast(column, 'int64')` makes lengths of time numbers, and `pc.binary_join(column, ' ')` makes lists words",
)
_ALL: Final[Mapping[str, FrameWords]] = {"pandas": PANDAS, "polars": POLARS, "pyarrow": ARROW}


def words_of(frame: object) -> FrameWords:
    """The words for a frame's own library; pandas for anything else."""
    return _ALL.get(type(frame).__module__.partition(".")[0], PANDAS)
