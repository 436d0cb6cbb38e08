"""The content of one archive entry, decompressed within its declared sizes."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

import numpy as np

from core.data.intake.zip_directory import LOCAL, LOCAL_SIGNATURE, damaged

_PIECE_BYTES: Final = 1 << 18


def entry_pieces(source: BinaryIO, entry: np.void) -> Iterator[bytes]:
    """The content in chunks; other entries may be read in between.

    Args:
        source: The archive, seekable.
        entry: One row of ``Directory.entries``.

    Raises:
        DamagedUpload: It does not match the directory: truncated, too long, or with another checksum.
    """
    place = _start(source, int(entry["offset"]))
    left, expected = int(entry["packed"]), int(entry["unpacked"])
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS) if entry["deflated"] else None
    seen = checksum = 0
    rest = b""
    while left or rest:
        if not rest:
            source.seek(place)
            rest = source.read(min(left, _PIECE_BYTES))
            if not rest:
                raise damaged()
            place += len(rest)
            left -= len(rest)
        plain, rest = _unpacked(unpacker, rest)
        seen += len(plain)
        if seen > expected:
            raise damaged()
        checksum = zlib.crc32(plain, checksum)
        if plain:
            yield plain
    if unpacker is not None:
        tail = unpacker.flush()
        seen += len(tail)
        checksum = zlib.crc32(tail, checksum)
        if tail:
            yield tail
    whole = unpacker is None or unpacker.eof
    if not whole or seen != expected or checksum != int(entry["crc"]):
        raise damaged()


def _unpacked(unpacker: "zlib._Decompress | None", packed: bytes) -> tuple[bytes, bytes]:
    """A chunk of the content, and the compressed rest."""
    if unpacker is None:
        return packed, b""
    if unpacker.eof:  # bytes after the end
        raise damaged()
    try:
        plain = unpacker.decompress(packed, _PIECE_BYTES)
    except zlib.error:
        raise damaged() from None
    return plain, unpacker.unused_data or unpacker.unconsumed_tail


def _start(source: BinaryIO, offset: int) -> int:
    """The offset of the content, after the local header; of its fields only the lengths are trusted."""
    source.seek(offset)
    head = source.read(LOCAL.size)
    if len(head) != LOCAL.size or not head.startswith(LOCAL_SIGNATURE):
        raise damaged()
    *_, name_length, extra_length = LOCAL.unpack(head)
    return offset + LOCAL.size + int(name_length) + int(extra_length)
