"""The label file of an archive: file, label and unit of each image; parsed as strictly as any CSV."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from core.data.errors import DamagedUpload, EmptyUpload, NotUtf8, WrongHeader
from core.data.intake.csv_records import Block, blocks_of, check_text, split_first
from core.data.intake.header import check_names
from core.plan.domain.images import FILE, LABEL, ImageDomain

LABEL_FILE: Final = "labels.csv"
_LONGEST_RECORD: Final = 1 << 14
_QUOTE: Final = '"'
_DELIMITER: Final = ","
_AS_UTF8: Final = (
    "Save the label file as UTF-8, for example with: iconv -f WINDOWS-1252 -t UTF-8 OLD.csv > NEW.csv"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRow:
    """One record of the file.

    Attributes:
        line: The line on which it begins, from 1.
        file: The image's name, relative to the label file's folder; None if the record has a wrong number of
            fields.
        label: Its label; None if none are declared.
        unit: Its privacy unit; None if none is declared.
    """

    line: int
    file: str | None
    label: str | None
    unit: str | None


def columns_of(domain: ImageDomain) -> list[str]:
    """The columns that the label file must have, in any order."""
    return [
        FILE,
        *([LABEL] if domain.labels else []),
        *([domain.privacy_unit] if domain.privacy_unit else []),
    ]


def label_rows(pieces: Iterable[bytes], domain: ImageDomain) -> Iterator[LabelRow]:
    """Read the label file record by record.

    Raises:
        WrongHeader: Other columns than ``columns_of``.
        EmptyUpload: No bytes.
        NotUtf8, NulByte, StrayQuote, BareCarriageReturn, RecordTooLong, DamagedUpload: It is not valid CSV.
    """
    try:
        yield from _label_rows(pieces, domain)
    except NotUtf8 as error:
        # The advice on tables does not hold: the encoding of a label file cannot be declared.
        raise NotUtf8(error.detail, remedy=_AS_UTF8, **error.facts) from None


def _label_rows(pieces: Iterable[bytes], domain: ImageDomain) -> Iterator[LabelRow]:
    blocks = blocks_of(pieces, quote=_QUOTE, max_record_bytes=_LONGEST_RECORD)
    first = next(blocks, None)
    if first is None:
        raise EmptyUpload("The label file has no lines.")
    check_text(first, quote=_QUOTE, delimiter=_DELIMITER)
    header, first = split_first(first, _QUOTE)
    names = _checked(domain, next(csv.reader([header.decode()]), []))
    yield from _rows(first, names, domain)
    for block in blocks:
        check_text(block, quote=_QUOTE, delimiter=_DELIMITER)
        yield from _rows(block, names, domain)


def _checked(domain: ImageDomain, names: list[str]) -> list[str]:
    """The declared name of each column."""
    try:
        return check_names(columns_of(domain), names)
    except WrongHeader as error:
        listed = ", ".join(columns_of(domain))
        raise WrongHeader(
            error.detail, remedy=f"{LABEL_FILE} has a header line and these columns: {listed}.", **error.facts
        ) from None


def _rows(block: Block, names: list[str], domain: ImageDomain) -> Iterator[LabelRow]:
    reader = csv.reader(io.StringIO(block.data.decode(), newline="\n"))
    line = block.first_line
    try:
        for fields in reader:
            if fields:
                yield _row(line, fields, names, domain)
            line = block.first_line + reader.line_num
    except csv.Error:
        raise DamagedUpload(
            "The label file could not be read as CSV.", remedy="Write it again as plain CSV.", line=line
        ) from None


def _row(line: int, fields: list[str], names: list[str], domain: ImageDomain) -> LabelRow:
    if len(fields) != len(names):
        return LabelRow(line=line, file=None, label=None, unit=None)
    found = dict(zip(names, fields, strict=True))
    return LabelRow(
        line=line,
        file=found[FILE],
        label=found.get(LABEL) if domain.labels else None,
        unit=found.get(domain.privacy_unit) if domain.privacy_unit else None,
    )
