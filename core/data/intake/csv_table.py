"""Clean rows from blocks of CSV records, using Arrow's CSV parser on validated text.

All fields are read as text: Arrow's conversions fail as a whole and quote values in their errors. Columns
with a declared list are read as dictionaries, so each distinct text is cleaned once.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from core.data.errors import DamagedUpload
from core.data.intake.clean_rows import LISTED_PER_BLOCK, CleanBlock, clean_rows
from core.data.intake.csv_records import Block, blank_records, check_text, cut_off, record_lines
from core.data.intake.header import used_names
from core.plan.domain.columns.kinds import LabelColumn
from core.plan.domain.table import TableDomain

_WIDTH: Final = "wrong-number-of-fields"
_NONE: Final = np.zeros(0, dtype=np.int64)


class CsvTable:
    """Cleans blocks of one file, whose columns have these names in its order."""

    def __init__(self, domain: TableDomain, names: list[str]) -> None:
        dialect = domain.csv
        self._domain = domain
        self._names = names
        # Where text needs no other preparation Arrow finds the null texts itself, while it parses.
        needs_preparing = dialect.strip_spaces or dialect.decimal_mark != "."
        arrow_nulls = () if needs_preparing else dialect.null_values
        self._prepared = dialect if needs_preparing else None
        used = used_names(domain)
        labels = {column.name for column in domain.modelled if isinstance(column, LabelColumn)}
        dictionary = pa.dictionary(pa.int32(), pa.string())
        self._convert = csv.ConvertOptions(
            column_types={name: dictionary if name in labels else pa.string() for name in used},
            include_columns=used,
            check_utf8=False,
            null_values=list(arrow_nulls),
            strings_can_be_null=bool(arrow_nulls),
        )

    def clean(self, block: Block) -> CleanBlock:
        """Parse and clean one block; the problems' rows are lines of the file.

        Raises:
            InvalidInput: the text as a whole cannot be read (see ``core.data.intake.csv_records``).
            DamagedUpload: the last record has neither a line end nor all fields.
        """
        dialect = self._domain.csv
        check_text(block, quote=dialect.quote, delimiter=dialect.delimiter)
        broken: list[int] = []
        short: set[int] = set()
        table = self._parse(block, broken, short)
        if block.open_ended and table.num_rows + len(broken) in short:
            raise cut_off(int(record_lines(block, dialect.quote)[-1]), "record with too few fields")
        columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        # A blank line parses as a row of nulls; in a table of one column it may mean just that.
        blank = blank_records(block, dialect.quote) if len(self._names) > 1 else _NONE
        if not broken and not len(blank):
            return self._with_lines(
                clean_rows(self._domain, columns, table.num_rows, self._prepared), block, None, ()
            )
        parsed = np.ones(table.num_rows + len(broken), dtype=bool)
        parsed[np.array(broken, dtype=np.int64) - 1] = False
        wanted = parsed.copy()
        wanted[blank] = False
        columns = {name: values.filter(pa.array(wanted[parsed])) for name, values in columns.items()}
        records = np.flatnonzero(wanted)
        found = clean_rows(self._domain, columns, len(records), self._prepared)
        return self._with_lines(found, block, records, [number - 1 for number in broken])

    def _parse(self, block: Block, broken: list[int], short: set[int]) -> pa.Table:
        def skip(row: csv.InvalidRow) -> str:
            broken.append(row.number)
            if row.actual_columns < row.expected_columns:
                short.add(row.number)
            return "skip"

        dialect = self._domain.csv
        try:
            return csv.read_csv(
                pa.BufferReader(block.data),
                read_options=csv.ReadOptions(
                    column_names=self._names, use_threads=False, block_size=len(block.data) + 1
                ),
                parse_options=csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote if dialect.quote is not None else False,
                    double_quote=dialect.quote is not None,
                    newlines_in_values=block.quoted,
                    ignore_empty_lines=False,
                    invalid_row_handler=skip,
                ),
                convert_options=self._convert,
            )
        except pa.ArrowInvalid:
            raise DamagedUpload(
                "The text could not be read as CSV.",
                remedy="Check csv.delimiter and csv.quote.",
                line=block.first_line,
            ) from None

    def _with_lines(
        self, found: CleanBlock, block: Block, records: NDArray[np.intp] | None, broken: Sequence[int]
    ) -> CleanBlock:
        """Turn rows into lines, and add the records with a wrong number of fields."""
        if not found.problems and not broken:
            return found
        lines = record_lines(block, self._domain.csv.quote)
        row_lines = lines if records is None else lines[records]
        problems = [(int(row_lines[row]), name, kind) for row, name, kind in found.problems]
        problems += [(int(lines[record]), "", _WIDTH) for record in broken[:LISTED_PER_BLOCK]]
        refusals = found.refusals.copy()
        if broken:
            refusals["", _WIDTH] += len(broken)
        return replace(
            found,
            rows_refused=found.rows_refused + len(broken),
            refusals=refusals,
            problems=sorted(problems)[:LISTED_PER_BLOCK],
        )
