"""A strict reader of ZIP directories: one pass, about 50 bytes of memory per entry.

Python's reader keeps an object per entry and trusts much of its input. Here an ambiguous archive is refused
as a whole: overlapping entries (as in dense zip bombs), duplicate names, encrypted entries, methods other
than stored and deflate, multi-file archives. Names only serve to find entries: no file is ever created from
one. The format is PKWARE's APPNOTE 6.3, sections 4.3 and 4.4, with ZIP64.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from core.data.errors import (
    DamagedUpload,
    DecompressionBomb,
    TooManyImages,
    UnsupportedUpload,
    WrongArchive,
)
from core.data.intake.unpacking import IntakeLimits, check_ratio

ENTRY: Final = np.dtype(
    [
        ("name", "<i8"), ("folder", "<i8"), ("number", "<i8"), ("offset", "<i8"), ("packed", "<i8"), ("unpacked", "<i8"),
        ("crc", "<u4"), ("deflated", "?"), ("plain", "?"),
    ]
)  # fmt: skip
"""Hashes of the name and of the name of the folder that holds it, number among all entries from 1, offset of its
local header, sizes, whether it is a regular file."""
STORED: Final = 0
DEFLATED: Final = 8
LOCAL: Final = struct.Struct("<4sHHHHHIIIHH")
LOCAL_SIGNATURE: Final = b"PK\x03\x04"
NAMES_KEPT: Final = 16

_CENTRAL: Final = struct.Struct("<4sHHHHHHIIIHHHHHII")
_CENTRAL_SIGNATURE: Final = b"PK\x01\x02"
_END: Final = struct.Struct("<4sHHHHIIH")
_END_SIGNATURE: Final = b"PK\x05\x06"
_LOCATOR: Final = struct.Struct("<4sIQI")
_LOCATOR_SIGNATURE: Final = b"PK\x06\x07"
_END64: Final = struct.Struct("<4sQHHIIQQQQ")
_END64_SIGNATURE: Final = b"PK\x06\x06"
_LONGEST_COMMENT: Final = 0xFFFF
_SMALL: Final = 0xFFFFFFFF
_FEW: Final = 0xFFFF
_EXTRA64: Final = 1
_ENCRYPTED: Final = 0x0001 | 0x0040 | 0x2000
_UNIX: Final = 3
_KIND_OF_FILE: Final = 0o170000
_REGULAR: Final = 0o100000
_LONGEST_NAME: Final = 1024
_GROW: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The contents of an archive.

    Attributes:
        entries: Its files in directory order, without folders and files added by operating systems; (files,) of
            ``ENTRY``.
        labels: Indices in ``entries`` of files called ``labels.csv``, with their folders; at most two are kept.
            names: Names of the first files, at most 16.
    """

    entries: NDArray[np.void]
    labels: tuple[tuple[int, bytes], ...]
    names: tuple[bytes, ...]


def key_of(name: bytes) -> int:
    """Hash of a name: Python's keyed 64-bit hash. Among a million names a collision occurs once in 37 million archives."""
    return hash(name)


def read_directory(source: BinaryIO, size: int, limits: IntakeLimits) -> Directory:
    """Read and check the directory of a seekable archive of `size` bytes.

    Raises:
        DamagedUpload: It is truncated or inconsistent.
        UnsupportedUpload: It is encrypted, multi-file, or compressed by another method than deflate.
        WrongArchive: Two entries have one name.
        TooManyImages: It has too many entries.
        DecompressionBomb: It promises more bytes than the limits allow.
    """
    count, start, length, end = _find(source, size)
    if count > limits.max_images:
        raise TooManyImages(limits.max_images)
    if start + length > end or length < count * _CENTRAL.size:
        raise damaged()
    source.seek(start)
    reader = _Reader(source)
    for number in range(1, count + 1):
        length -= reader.take(number)
    if length != 0:
        raise damaged()
    found = reader.finish()
    _check_places(found.entries, start)
    if len(np.unique(found.entries["name"])) < len(found.entries):
        raise WrongArchive(
            "Two entries of the archive have the same name.",
            remedy="Write the archive again with each file once.",
        )
    # In Python's integers: the declared sizes may exceed 64 bits.
    unpacked = sum(found.entries["unpacked"].tolist())
    if unpacked > limits.max_unpacked_bytes:
        raise DecompressionBomb(
            "The archive unpacks to too many bytes.",
            remedy="Send fewer images, or ask the operator to raise the limit.",
            limit_bytes=limits.max_unpacked_bytes,
        )
    check_ratio(size, unpacked, limits)
    return found


def damaged() -> DamagedUpload:
    """The error for a truncated or inconsistent archive."""
    return DamagedUpload("The archive is cut off or damaged.", remedy="Write or send the archive again.")


class _Reader:
    """Entries, one after the other."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._entries = np.empty(_GROW, ENTRY)
        self._count = 0
        self._labels: list[tuple[int, bytes]] = []
        self._names: list[bytes] = []

    def take(self, number: int) -> int:
        """Read the next entry. Returns the number of directory bytes read."""
        (
            signature, made_by, _, flags, method, _, _, crc, packed, unpacked, name_length, extra_length, comment_length,
            disk, _, attributes, offset,
        ) = _CENTRAL.unpack(_exactly(self._source, _CENTRAL.size))  # fmt: skip
        if signature != _CENTRAL_SIGNATURE:
            raise damaged()
        name = _as_utf8(_exactly(self._source, name_length))
        extra = _exactly(self._source, extra_length)
        _exactly(self._source, comment_length)
        unpacked, packed, offset, disk = _widened(extra, unpacked, packed, offset, disk)
        if disk not in {0, _FEW}:
            raise _in_parts()
        if not _is_passed_over(name):
            if flags & _ENCRYPTED:
                raise UnsupportedUpload(
                    "An entry of the archive is encrypted.",
                    remedy="Send an archive without password.",
                    entry=number,
                )
            if method not in {STORED, DEFLATED}:
                raise UnsupportedUpload(
                    "An entry of the archive is packed by another method than deflate.",
                    remedy="Write the archive with deflate, which every program supports.",
                    entry=number,
                )
            kind = (attributes >> 16) & _KIND_OF_FILE if made_by >> 8 == _UNIX else 0
            plain = kind in {0, _REGULAR} and _is_harmless(name)
            folder = name.rpartition(b"/")[0].rpartition(b"/")[2]
            self._add(
                name,
                (
                    key_of(name),
                    key_of(folder),
                    number,
                    offset,
                    packed,
                    unpacked,
                    crc,
                    method == DEFLATED,
                    plain,
                ),
            )
        return int(_CENTRAL.size + name_length + extra_length + comment_length)

    def _add(self, name: bytes, entry: tuple[int | bool, ...]) -> None:
        if self._count == len(self._entries):
            self._entries = np.concatenate([self._entries, np.empty(len(self._entries), ENTRY)])
        try:
            self._entries[self._count] = entry
        except OverflowError:  # a size or place beyond 63 bits
            raise damaged() from None
        folder, _, last = name.rpartition(b"/")
        if last == b"labels.csv" and len(self._labels) < 2:  # noqa: PLR2004 - one is right, two are one too many
            self._labels.append((self._count, folder + b"/" if folder else b""))
        if len(self._names) < NAMES_KEPT:
            self._names.append(name)
        self._count += 1

    def finish(self) -> Directory:
        """The directory."""
        return Directory(
            entries=self._entries[: self._count], labels=tuple(self._labels), names=tuple(self._names)
        )


def _find(source: BinaryIO, size: int) -> tuple[int, int, int, int]:
    """Number of entries, offset and length of the directory, and where it must end."""
    tail_start = max(0, size - _END.size - _LONGEST_COMMENT)
    source.seek(tail_start)
    tail = _exactly(source, size - tail_start)
    place = len(tail)
    while place + _END.size > len(tail) or place + _END.size + _comment_length(tail, place) != len(tail):
        place = tail.rfind(_END_SIGNATURE, 0, min(len(tail), place + 3))
        if place < 0:
            raise damaged()
    _, disk, first_disk, here, count, length, start, _ = _END.unpack_from(tail, place)
    end = tail_start + place
    if _FEW not in {count, here, disk} and _SMALL not in {length, start}:
        if (disk, first_disk) != (0, 0) or here != count:
            raise _in_parts()
        return count, start, length, end
    return _find64(source, end)


def _comment_length(tail: bytes, place: int) -> int:
    (*_, comment) = _END.unpack_from(tail, place)
    return int(comment)


def _find64(source: BinaryIO, end: int) -> tuple[int, int, int, int]:
    if end < _LOCATOR.size:
        raise damaged()
    source.seek(end - _LOCATOR.size)
    signature, disk, place, disks = _LOCATOR.unpack(_exactly(source, _LOCATOR.size))
    if signature != _LOCATOR_SIGNATURE or place + _END64.size > end - _LOCATOR.size:
        raise damaged()
    if disk != 0 or disks > 1:
        raise _in_parts()
    source.seek(place)
    signature, _, _, _, disk, first_disk, here, count, length, start = _END64.unpack(
        _exactly(source, _END64.size)
    )
    if signature != _END64_SIGNATURE:
        raise damaged()
    if (disk, first_disk) != (0, 0) or here != count:
        raise _in_parts()
    return count, start, length, place


def _widened(extra: bytes, unpacked: int, packed: int, offset: int, disk: int) -> tuple[int, int, int, int]:
    """Sizes and offset, taken from the ZIP64 extra field if present."""
    if _SMALL not in {unpacked, packed, offset}:
        return unpacked, packed, offset, disk
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, place)
        field = extra[place + 4 : place + 4 + length]
        place += 4 + length
        if kind != _EXTRA64:
            continue
        wide = [value for (value,) in struct.iter_unpack("<Q", field[: len(field) // 8 * 8])]
        try:
            return (
                wide.pop(0) if unpacked == _SMALL else unpacked,
                wide.pop(0) if packed == _SMALL else packed,
                wide.pop(0) if offset == _SMALL else offset,
                disk,
            )
        except IndexError:
            raise damaged() from None
    raise damaged()


def _check_places(entries: NDArray[np.void], directory: int) -> None:
    """Require that no entry overlaps another or the directory."""
    if not len(entries):
        return
    starts, packed = entries["offset"], entries["packed"]
    if (starts > directory).any() or (
        packed > directory
    ).any():  # checked before sums that could overflow 64 bits
        raise damaged()
    order = np.argsort(starts, kind="stable")
    ends = (starts + LOCAL.size + packed)[order]
    if (ends > np.append(starts[order][1:], directory)).any():
        raise damaged()


def _as_utf8(name: bytes) -> bytes:
    """The name in UTF-8; a name that is not valid UTF-8 is in code page 437."""
    try:
        name.decode()
    except UnicodeDecodeError:
        return name.decode("cp437").encode()
    return name


def _is_passed_over(name: bytes) -> bool:
    """Folders, and files added by operating systems."""
    last = name.rpartition(b"/")[2]
    return not last or last.startswith(b".") or name.startswith(b"__MACOSX/") or b"/__MACOSX/" in name


def _is_harmless(name: bytes) -> bool:
    """Whether a name is a plain relative path. Nothing is ever written to one, but another name indicates an attack."""
    if len(name) > _LONGEST_NAME or name.startswith(b"/") or b"\\" in name or b":" in name[:2]:
        return False
    return ".." not in name.decode().split("/") and name.decode().isprintable()


def _in_parts() -> UnsupportedUpload:
    return UnsupportedUpload(
        "The archive is split into several files.", remedy="Write one archive, of any size."
    )


def _exactly(source: BinaryIO, length: int) -> bytes:
    content = source.read(length)
    if len(content) != length:
        raise damaged()
    return content
