"""Page headers of a Parquet file, which determine how much memory reading it really takes.

The footer only promises sizes. The reader allocates what a page's header says before it unpacks the page, so
the headers of all pages to be read are scanned first, and a file whose pages are too large, together or
alone, is refused before any is opened. Two text encodings can unpack to far more than their page (delta byte
arrays and delta lengths) and are refused as well.
"""

import io
from collections.abc import Collection
from dataclasses import dataclass
from typing import BinaryIO, Final

from core.data.errors import DecompressionBomb, UnsupportedUpload
from core.data.intake.parquet_footer import ColumnChunk, Footer, damaged
from core.data.intake.thrift_compact import I32, STRUCT, Fields, Kind, Malformed, read_struct
from core.data.intake.unpacking import IntakeLimits

_FIRST_LOOK_BYTES: Final = 512
_HEADER_BYTES: Final = 1 << 20
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
# PLAIN, both dictionary encodings, RLE, BIT_PACKED, DELTA_BINARY_PACKED, BYTE_STREAM_SPLIT.
_ENCODINGS: Final = frozenset({0, 2, 3, 4, 5, 8, 9})
_FEW_PAGES: Final = 1000
_BYTES_PER_PAGE: Final = 1024

_I32: Final = Kind(I32)
_PAGE: Final = {
    1: _I32,
    2: _I32,
    3: _I32,
    5: Kind(STRUCT, {1: _I32, 2: _I32}),
    7: Kind(STRUCT, {1: _I32, 2: _I32}),
    8: Kind(STRUCT, {1: _I32, 4: _I32, 5: _I32, 6: _I32}),
}
# Where the count of values and the encoding stand, by the kind of page.
_DETAILS: Final = {_DATA: (5, 1, 2), _DATA_2: (8, 1, 4)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walked:
    """Sizes of the pages of one chunk: in total, and in memory at once."""

    unpacked: int
    held: int


def check_pages(
    file: BinaryIO, footer: Footer, columns: Collection[tuple[bytes, ...]], limits: IntakeLimits
) -> int:
    """Walk the pages of the columns that will be read, given by their paths.

    Returns:
        The unpacked bytes of all of them.

    Raises:
        DamagedUpload: A header is unreadable or has offsets out of range.
        DecompressionBomb: Pages are larger than the limits allow.
        UnsupportedUpload: An unsupported encoding.
    """
    unpacked = 0
    for number, group in enumerate(footer.groups):
        held = 0
        for chunk in group:
            if chunk.path not in columns:
                continue
            walked = _walk(file, chunk, limits)
            unpacked += walked.unpacked
            held += walked.held
            if walked.unpacked > limits.max_column_chunk_bytes:
                raise _bomb(f"One column of row group {number}", limits.max_column_chunk_bytes)
            if held > limits.max_open_page_bytes:
                raise _bomb(
                    f"The pages of row group {number} that are read together", limits.max_open_page_bytes
                )
    return unpacked


def _walk(file: BinaryIO, chunk: ColumnChunk, limits: IntakeLimits) -> _Walked:
    start, end = chunk.start, chunk.start + chunk.packed_bytes
    most_pages = _FEW_PAGES + chunk.packed_bytes // _BYTES_PER_PAGE
    pages = seen = unpacked = largest = dictionary = 0
    while seen < chunk.values:
        pages += 1
        if start >= end or pages > most_pages + unpacked // _BYTES_PER_PAGE:
            raise damaged()
        header, length = _header_at(file, start, end)
        kind, plain, packed = (_count(header, number) for number in (1, 2, 3))
        start += length + packed
        unpacked += plain
        if kind == _DICTIONARY:
            if max(plain, packed) > limits.max_dictionary_bytes:
                raise _bomb("A dictionary", limits.max_dictionary_bytes)
            dictionary = max(dictionary, plain)
            continue
        if max(plain, packed) > limits.max_page_bytes:
            raise _bomb("A page", limits.max_page_bytes)
        largest = max(largest, plain + packed)
        if kind in _DETAILS:
            details, values, encoding = _DETAILS[kind]
            inside = header.get(details, {})
            seen += _count(inside, values)
            _check_encoding(_count(inside, encoding))
    if start > end:
        raise damaged()
    return _Walked(unpacked=unpacked, held=largest + 2 * dictionary)


def _check_encoding(encoding: int) -> None:
    if encoding not in _ENCODINGS:
        raise UnsupportedUpload(
            "A column of the Parquet file has an unsupported encoding.",
            remedy="Write it with plain or dictionary encoding, the default of most programs.",
        )


def _count(fields: Fields, number: int) -> int:
    found = fields.get(number)
    if not isinstance(found, int) or found < 0:
        raise damaged()
    return found


def _header_at(file: BinaryIO, start: int, end: int) -> tuple[Fields, int]:
    """The header of the page at a position, and its length."""
    look = _FIRST_LOOK_BYTES
    while True:
        file.seek(start)
        content = io.BytesIO(file.read(min(look, end - start)))
        try:
            return read_struct(content, _PAGE), content.tell()
        except Malformed:
            raise damaged() from None
        except EOFError:
            if look >= min(_HEADER_BYTES, end - start):
                raise damaged() from None
            look *= 8


def _bomb(what: str, limit: int) -> DecompressionBomb:
    return DecompressionBomb(
        f"{what} would take more than {limit} bytes.",
        remedy="Write the file with smaller row groups and pages (100,000 rows and 1 MiB are usual).",
        limit_bytes=limit,
    )
