"""Read the ZIP of a bundle strictly, so that every reader finds the same files in it.

Readers of ZIP disagree in ambiguous archives: some follow the directory at the end, some the local headers from the start; some accept names in
extra fields, file modes, or bytes after a deflate stream. So only one layout is read, that of the service (PKWARE's APPNOTE 6.3, sections 4.3
and 4.4): entries one after another from the first byte, in the directory's order, each local header equal to its directory record, no extra
field, no comment, no flag, regular files, deflate streams that end with their entry; then the directory, then its end record, then nothing.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

from understudy.errors import NotABundle

_LOCAL: Final = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL: Final = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END: Final = struct.Struct("<4sHHHHIIH")
_LOCAL_SIGNATURE, _CENTRAL_SIGNATURE, _END_SIGNATURE = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_METHODS = _STORED, _DEFLATED = 0, 8
_LARGEST_DIRECTORY: Final = 2**20
_SYSTEMS: Final = frozenset({0, 3})
"""Systems with known file modes: DOS and Unix."""
_KIND, _REGULAR = 0o170000, 0o100000
_DOS_KIND: Final = 0x18
"""A folder or a volume label."""
_PIECE: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of the archive, as the directory lists it.

    Attributes:
        offset: offset of the local header.
        header: the required local header, with the name.
        method: stored or deflated.
        packed: size in the archive, in bytes.
        length: size of the file, in bytes.
        problem: the reason for not reading it; empty if it is readable.
    """

    name: str
    offset: int
    header: bytes
    method: int
    packed: int
    length: int
    crc: int
    problem: str


def read_directory(stream: BinaryIO) -> tuple[list[Entry], int]:
    """Read the directory: its entries in order, and its offset.

    Raises:
        NotABundle: the file does not end with a directory and its end record.
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - _END.size, 0))
    last = stream.read()
    if len(last) < _END.size or not last.startswith(_END_SIGNATURE):
        raise _no_zip("it is cut off, or has a comment or other bytes behind its directory")
    _, *disks, here, count, length, start, comment = _END.unpack(last)
    if any(disks) or here != count or comment or start + length != size - _END.size:
        raise _no_zip("bytes are missing, or stand in front of it or behind its directory")
    if length > _LARGEST_DIRECTORY:
        raise _no_zip("its directory is larger than a bundle's can be")
    stream.seek(start)
    directory = stream.read(length)
    entries, at = [], 0
    for _ in range(count):
        if len(directory) - at < _CENTRAL.size or not directory.startswith(_CENTRAL_SIGNATURE, at):
            raise _no_zip("its directory is damaged")
        entry, at = _entry(directory, at)
        entries.append(entry)
    if at != length:
        raise _no_zip("its directory is damaged")
    return entries, start


def _no_zip(why: str) -> NotABundle:
    return NotABundle(f"the file is not a whole ZIP as the service writes it: {why}; download it again")


def _entry(directory: bytes, at: int) -> tuple[Entry, int]:
    (
        _signature, made_by, needed, flags, method, time, date, crc, packed, length, name_length, extra, comment, disk,
        _text, attributes, offset,
    ) = _CENTRAL.unpack_from(directory, at)  # fmt: skip
    at += _CENTRAL.size
    name = directory[at : at + name_length]
    numbers = needed, flags, method, time, date, crc, packed, length, name_length, 0
    problem = ""
    if flags or method not in _METHODS:
        problem = "is encrypted, or packed in a way that the service does not use"
    elif extra or comment or disk:
        problem = "has an extra field or a comment"
    elif not _regular(made_by >> 8, attributes):
        problem = "is not a regular file"
    entry = Entry(
        name=name.decode("ascii", errors="backslashreplace"),
        offset=offset,
        header=_LOCAL.pack(_LOCAL_SIGNATURE, *numbers) + name,
        method=method,
        packed=packed,
        length=length,
        crc=crc,
        problem=problem,
    )
    return entry, at + name_length + extra + comment


def _regular(system: int, attributes: int) -> bool:
    return system in _SYSTEMS and attributes >> 16 & _KIND in {0, _REGULAR} and not attributes & _DOS_KIND


def check_layout(stream: BinaryIO, entries: Sequence[Entry], start: int) -> None:
    """Check that the entries fill the file up to its directory at `start`, each after the local header that its directory record implies.

    Raises:
        NotABundle: they do not.
    """
    place = 0
    for entry in entries:
        if entry.problem:
            message = f"{entry.name} {entry.problem}"
            raise NotABundle(message)
        if entry.offset != place:
            raise _no_zip(f"bytes that belong to no file stand in front of {entry.name}")
        stream.seek(place)
        if stream.read(len(entry.header)) != entry.header:
            raise _no_zip(f"the local header of {entry.name} is not what the directory says")
        place += len(entry.header) + entry.packed
    if place != start:
        raise _no_zip("bytes that belong to no file stand in front of its directory")


def pieces(stream: BinaryIO, entry: Entry) -> Iterator[bytes]:
    """Yield the content of a file piece by piece; the directory's length may be false.

    Raises:
        NotABundle: the content does not match its directory record: it is longer or shorter.
    """
    stream.seek(entry.offset + len(entry.header))
    packed = _packed(stream, entry.packed)
    length, crc = 0, 0
    for piece in packed if entry.method == _STORED else _inflated(packed, entry.name):
        length, crc = length + len(piece), zlib.crc32(piece, crc)
        yield piece
    if (length, crc) != (entry.length, entry.crc):
        raise _another_file(entry.name)


def _packed(stream: BinaryIO, left: int) -> Iterator[bytes]:
    while left and (piece := stream.read(min(left, _PIECE))):
        left -= len(piece)
        yield piece


def _inflated(packed: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Inflate one deflate stream that ends exactly with its packed bytes."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    waiting = b""
    while not inflater.eof:
        given = waiting or next(packed, b"")
        try:
            piece = inflater.decompress(given, _PIECE)
        except zlib.error:
            raise _another_file(name) from None
        if not (given or piece):
            raise _another_file(name)
        waiting = inflater.unconsumed_tail
        yield piece
    if inflater.unused_data or next(packed, b""):
        raise _another_file(name)


def _another_file(name: str) -> NotABundle:
    return _no_zip(f"{name} is not the file that the directory says")
