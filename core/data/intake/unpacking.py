"""Incoming bytes, counted and decompressed from gzip under limits."""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from core.data.errors import DamagedUpload, DecompressionBomb, UploadTooLarge

_PIECE_BYTES: Final = 1 << 20
_GZIP: Final = 16 + zlib.MAX_WBITS
_RATIO_FROM_BYTES: Final = 64 << 20
_SLICE_BYTES: Final = 1 << 14
_FEW_MEMBERS: Final = 1000
_BYTES_PER_MEMBER: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeLimits:
    """Limits of one upload.

    Attributes:
        max_bytes: Bytes as sent.
        max_unpacked_bytes: Bytes after unpacking (gzip) or as declared by a Parquet file's own footer.
        max_ratio: Unpacked over sent bytes, checked from 64 MiB on; real tables stay below 100.
        max_record_bytes: One CSV record.
        max_column_chunk_bytes: One column of one Parquet row group, unpacked.
        max_page_bytes: One Parquet page, packed or unpacked; a mebibyte is usual.
        max_dictionary_bytes: One Parquet dictionary; writers give up dictionaries at a mebibyte or a few.
        max_open_page_bytes: All Parquet pages that are in memory at once, in one row group.
        max_footer_bytes: A Parquet file's footer.
        max_images: Images of one upload, and entries of an archive.
        max_image_bytes: One PNG or JPEG file; at most 256 by 256 pixels need far less.
    """

    max_bytes: int = 16 << 30
    max_unpacked_bytes: int = 64 << 30
    max_ratio: float = 200.0
    max_record_bytes: int = 1 << 20
    max_column_chunk_bytes: int = 256 << 20
    max_page_bytes: int = 64 << 20
    max_dictionary_bytes: int = 16 << 20
    max_open_page_bytes: int = 256 << 20
    max_footer_bytes: int = 8 << 20
    max_images: int = 4_000_000
    max_image_bytes: int = 2 << 20


def pieces_of(stream: Iterable[bytes] | BinaryIO, limits: IntakeLimits) -> Iterator[bytes]:
    """The pieces of a stream or binary file, none empty, at most ``max_bytes`` in all.

    Raises:
        UploadTooLarge: there are more bytes.
    """
    read = getattr(stream, "read", None)
    pieces: Iterable[bytes] = iter(lambda: read(_PIECE_BYTES), b"") if read is not None else stream
    taken = 0
    for piece in pieces:
        taken += len(piece)
        if taken > limits.max_bytes:
            raise UploadTooLarge(
                f"The upload has more than {limits.max_bytes} bytes.",
                remedy="Send it compressed, or ask the operator to raise the limit.",
                limit_bytes=limits.max_bytes,
            )
        for start in range(0, len(piece), _PIECE_BYTES):
            yield piece[start : start + _PIECE_BYTES]


def gunzip(pieces: Iterable[bytes], limits: IntakeLimits) -> Iterator[bytes]:
    """Unpack gzip, also of several members.

    Raises:
        DamagedUpload: not gzip, corrupted, cut off, or of countless empty members.
        DecompressionBomb: more unpacked bytes, or a higher ratio, than the limits allow.
    """
    unpacker = zlib.decompressobj(_GZIP)
    sent = unpacked = members = 0
    try:
        for piece in _slices(pieces):
            sent += len(piece)
            rest = piece
            while rest:
                if unpacker.eof:
                    members += 1
                    if members > _FEW_MEMBERS + unpacked // _BYTES_PER_MEMBER:
                        raise DamagedUpload(
                            "The gzip data consists of almost empty members.",
                            remedy="Compress the file again.",
                        )
                    unpacker = zlib.decompressobj(_GZIP)
                plain = unpacker.decompress(rest, _PIECE_BYTES)
                unpacked += len(plain)
                check_ratio(sent, unpacked, limits)
                if plain:
                    yield plain
                rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            # After a full output chunk the decompressor may hold more bytes although all input is consumed.
            while not unpacker.eof and (plain := unpacker.decompress(b"", _PIECE_BYTES)):
                unpacked += len(plain)
                check_ratio(sent, unpacked, limits)
                yield plain
    except zlib.error:
        raise DamagedUpload("The gzip data is corrupted.", remedy="Compress the file again.") from None
    if sent and not unpacker.eof:
        raise DamagedUpload("The gzip data is cut off.", remedy="Compress or send the file again.")


def _slices(pieces: Iterable[bytes]) -> Iterator[bytes]:
    # At the end of every member the decompressor copies its unused input: with small slices that is little.
    for piece in pieces:
        for start in range(0, len(piece), _SLICE_BYTES):
            yield piece[start : start + _SLICE_BYTES]


def check_ratio(sent: int, unpacked: int, limits: IntakeLimits) -> None:
    """Refuse a file that unpacks to too many bytes.

    Raises:
        DecompressionBomb: a limit is exceeded.
    """
    too_dense = unpacked > _RATIO_FROM_BYTES and unpacked > sent * limits.max_ratio
    if too_dense or unpacked > limits.max_unpacked_bytes:
        raise DecompressionBomb(
            "The file unpacks to implausibly many bytes for its size.",
            remedy="Send it less compressed or uncompressed, or ask the operator to raise the limit.",
            limit_bytes=limits.max_unpacked_bytes,
            limit_ratio=limits.max_ratio,
        )
