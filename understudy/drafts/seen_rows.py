"""Facts of a file's rows for a draft: one pass in constant memory, a second one if numbers are not written plainly."""

import csv
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from understudy.drafts.dependency_search import DependencySearch
from understudy.drafts.facts import Dialect, Facts, batches_of, read_dialect
from understudy.drafts.row_sample import RowSample
from understudy.drafts.written_numbers import (
    Writing,
    columns_with_commas,
    guess_mark,
    plain_batch,
    written_columns,
)
from understudy.errors import InputUnusable
from understudy.table_files import is_parquet, not_decoded, opened
from understudy.text_encoding import UTF8, guessed_encoding, why_guessed

_COMMAS = "Numbers of the file have a decimal comma; synthetic rows have a decimal point."
_NO_HEADER = "No header was found: the first line is read as a row. If it has the column names, draft again with --header."


@dataclass(slots=True)
class Seen:
    """Facts about the rows, collected batch by batch.

    Attributes:
        sample: A sample of the rows.
        ragged: Numbers of the rows with more or fewer fields than columns.
    """

    facts: dict[str, Facts] = field(default_factory=dict)
    search: DependencySearch = field(default_factory=DependencySearch)
    sample: RowSample = field(default_factory=RowSample)
    rows: int = 0
    ragged: list[int] = field(default_factory=list)

    def add(self, batch: Any) -> None:  # noqa: ANN401 (an Arrow batch; pyarrow is imported lazily)
        """Take in the next rows."""
        self.rows += batch.num_rows
        for name in batch.schema.names:
            self.facts.setdefault(name, Facts()).add(batch.column(name))
        self.search.add(batch)
        self.sample.add(batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The form of a CSV file as far as it is given; None where it is guessed.

    Attributes:
        header: Whether the first line has the column names.
        decimal_mark: The point or comma before decimals.
    """

    header: bool | None = None
    delimiter: str | None = None
    decimal_mark: str | None = None
    encoding: str | None = None


def see_file(path: Path, known: Format) -> tuple[Seen, Dialect | None, dict[str, Writing]]:
    """Facts of a file, its dialect (None for Parquet), and how its columns write numbers.

    Raises:
        InputUnusable: The file is unreadable, or in another encoding than the known one or those that are guessed.
    """
    try:
        return _read(path, known)
    except UnicodeError:
        guessed = None
    if known.encoding is None:
        try:
            with opened(path) as file:
                guessed = guessed_encoding(file)
        except (OSError, EOFError, zlib.error):
            raise _unreadable(path) from None
    if guessed is None:
        raise not_decoded(path, known.encoding, advice="draft again with --encoding {encoding}")
    seen, dialect, written = _read(path, replace(known, encoding=guessed))
    assert dialect is not None, "Parquet declares its encoding"
    return seen, replace(dialect, guessed=(*dialect.guessed, "encoding")), written


def notes_of(dialect: Dialect) -> Iterator[str]:
    """Sentences on the form of a CSV file that its owner may not expect."""
    if dialect.decimal_mark == ",":
        yield _COMMAS
    if "header" in dialect.guessed and not dialect.header:
        yield _NO_HEADER
    if "encoding" in dialect.guessed:
        yield why_guessed(dialect.encoding)


def _read(path: Path, known: Format) -> tuple[Seen, Dialect | None, dict[str, Writing]]:
    import pyarrow as pa

    mark = known.decimal_mark
    try:
        dialect, names = (
            (None, [])
            if is_parquet(path)
            else read_dialect(path, known.header, known.delimiter, known.encoding or UTF8)
        )
        seen = _look(path, dialect, names, {})
        written = dict[str, Writing]()
        if dialect is not None:
            found = mark or guess_mark(seen.facts, delimiter=dialect.delimiter)
            guessed = dialect.guessed if mark else (*dialect.guessed, "decimal_mark")
            dialect = replace(dialect, decimal_mark=found, guessed=guessed)
            if found == ",":
                written = dict.fromkeys(columns_with_commas(seen.facts), Writing(decimal_mark=","))
            mark = "," if found == "," else mark
        written = written_columns(seen.facts, decimal_mark=mark) | written
        return (_look(path, dialect, names, written) if written else seen), dialect, written
    except (pa.ArrowException, OSError, EOFError) as error:
        if "UTF8" in str(error):
            raise UnicodeError from None
        raise _unreadable(path) from None
    except csv.Error:
        message = (
            f"{path.name}: its first lines have a carriage return outside quotes, or a field of more than {csv.field_size_limit():,} characters; end lines"
            " with a line feed, and shorten or drop such a field"
        )
        raise InputUnusable(message) from None


def _unreadable(path: Path) -> InputUnusable:
    return InputUnusable(f"{path.name} cannot be read as CSV (plain or gzip) or Parquet")


def _look(path: Path, dialect: Dialect | None, names: list[str], written: Mapping[str, Writing]) -> Seen:
    """Read a file once, with written numbers converted."""
    seen = Seen()
    for batch in batches_of(path, dialect, names, seen.ragged):
        seen.add(plain_batch(batch, written))
    return seen
