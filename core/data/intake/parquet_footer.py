"""The footer of a Parquet file, reduced to what is needed to read its columns.

Statistics, histograms, indexes, application metadata and encryption flags are not needed here, and damaged
ones crash readers: some abort the whole process inside the library. The footer is therefore parsed here,
checked, and rewritten without them; the library sees the upload's pages with our footer.
"""

import io
from dataclasses import dataclass
from typing import BinaryIO, Final, Self

from typing_extensions import Buffer

from core.data.errors import DamagedUpload, DecompressionBomb
from core.data.intake.thrift_compact import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Fields,
    Kind,
    Malformed,
    read_struct,
    write_struct,
)
from core.data.intake.unpacking import IntakeLimits

_TAIL_BYTES: Final = 8
_FRAME_BYTES: Final = 12
_MAGIC: Final = b"PAR1"

_I32, _I64, _TEXT, _AS_IT_IS = Kind(I32), Kind(I64), Kind(BINARY), Kind(STRUCT)
_COLUMN: Final = {
    1: _I32, 2: Kind(LIST, items=_I32), 3: Kind(LIST, items=_TEXT), 4: _I32, 5: _I64, 6: _I64, 7: _I64, 9: _I64,
    11: _I64,
}  # fmt: skip
_CHUNK: Final = {2: _I64, 3: Kind(STRUCT, _COLUMN)}
_GROUP: Final = {1: Kind(LIST, items=Kind(STRUCT, _CHUNK)), 2: _I64, 3: _I64}
_ELEMENT: Final = {
    1: _I32, 2: _I32, 3: _I32, 4: _TEXT, 5: _I32, 6: _I32, 7: _I32, 8: _I32, 10: _AS_IT_IS,
}  # fmt: skip
_FOOTER: Final = {
    1: _I32,
    2: Kind(LIST, items=Kind(STRUCT, _ELEMENT)),
    3: _I64,
    4: Kind(LIST, items=Kind(STRUCT, _GROUP)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChunk:
    """One column of one row group.

    Args:
        path: The column's name, and those of its parents.
        start: Offset of its first page.
        packed_bytes: Bytes of all its pages and their headers.
        values: Number of values in them.
    """

    path: tuple[bytes, ...]
    start: int
    packed_bytes: int
    values: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """A parsed footer.

    Args:
        groups: The columns of each row group.
        ours: The rewritten footer, with its length and the magic bytes.
        starts_at: Offset of the upload's own footer.
    """

    groups: tuple[tuple[ColumnChunk, ...], ...]
    rows: int
    ours: bytes
    starts_at: int

    @classmethod
    def read(cls, file: BinaryIO, size: int, limits: IntakeLimits) -> Self:
        """Read and check it.

        Raises:
            DamagedUpload: The footer is incomplete or has offsets out of range.
            DecompressionBomb: It is longer than the limits allow.
        """
        content, starts_at = _content(file, size, limits)
        try:
            fields = read_struct(io.BytesIO(content), _FOOTER)
            leaves = [(element[1], element[4]) for element in fields[2][1:] if not element.get(5)]
            groups = tuple(_group(group[1], leaves, starts_at) for group in fields[4])
            rows = _rows(fields)
        except (Malformed, EOFError, KeyError, IndexError):
            raise damaged() from None
        written = write_struct(fields, _FOOTER)
        ours = written + len(written).to_bytes(4, "little") + _MAGIC
        return cls(groups=groups, rows=rows, ours=ours, starts_at=starts_at)


def _content(file: BinaryIO, size: int, limits: IntakeLimits) -> tuple[bytes, int]:
    if size < _FRAME_BYTES:
        raise damaged()
    file.seek(size - _TAIL_BYTES)
    tail = file.read(_TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > size - _FRAME_BYTES:
        raise damaged()
    if length > limits.max_footer_bytes:
        raise DecompressionBomb(
            f"The footer of the file has more than {limits.max_footer_bytes} bytes.",
            remedy="Write the file with larger row groups (100,000 rows are usual).",
            limit_bytes=limits.max_footer_bytes,
        )
    starts_at = size - _TAIL_BYTES - length
    file.seek(starts_at)
    return file.read(length), starts_at


def _rows(fields: Fields) -> int:
    counts = [group[3] for group in fields[4]]
    if min(counts, default=0) < 0 or sum(counts) != fields[3]:
        raise Malformed
    return sum(counts)


def _group(chunks: list[Fields], leaves: list[tuple[int, bytes]], end: int) -> tuple[ColumnChunk, ...]:
    columns = [chunk[3] for chunk in chunks]
    # The library reads past the end of a column whose stored type differs from the schema.
    if [(column[1], column[3][-1] if column[3] else b"") for column in columns] != leaves:
        raise Malformed
    return tuple(_chunk(column, end) for column in columns)


def _chunk(column: Fields, end: int) -> ColumnChunk:
    path, values, packed, start, dictionary = (column.get(number) for number in (3, 5, 7, 9, 11))
    if not isinstance(path, list):
        raise Malformed
    if not (isinstance(values, int) and isinstance(packed, int) and isinstance(start, int)):
        raise Malformed
    if isinstance(dictionary, int) and 0 < dictionary < start:
        start = dictionary
    if values == 0:
        return ColumnChunk(path=tuple(path), start=len(_MAGIC), packed_bytes=0, values=0)
    if values < 0 or packed < 0 or not len(_MAGIC) <= start <= start + packed <= end:
        raise Malformed
    return ColumnChunk(path=tuple(path), start=start, packed_bytes=packed, values=values)


class Refooted(io.RawIOBase):
    """The pages of an upload followed by our footer, as one file.

    Args:
        file: The upload; stays open.
    """

    def __init__(self, file: BinaryIO, footer: Footer) -> None:
        self._file = file
        self._pages = footer.starts_at
        self._footer = footer.ours
        self._position = 0

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move."""
        end = self._pages + len(self._footer)
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: end}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill a buffer as far as one of the two parts goes.

        Returns:
            The number of bytes read, 0 at the end.
        """
        view = memoryview(buffer).cast("B")
        if self._position < self._pages:
            self._file.seek(self._position)
            found = self._file.read(min(len(view), self._pages - self._position))
        else:
            start = self._position - self._pages
            found = self._footer[start : start + len(view)]
        view[: len(found)] = found
        self._position += len(found)
        return len(found)


def damaged() -> DamagedUpload:
    """The error for any unreadable file."""
    return DamagedUpload(
        "This is not a whole, readable Parquet file.", remedy="Write or send the file again."
    )
