"""A safe reader of NumPy array files: nothing is evaluated, and objects are refused.

The format is NEP 1: a magic, a version, the length of the header, and a Python dictionary with three keys as text.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from core.data.errors import DamagedUpload, WrongArchive
from core.data.intake.records import Records

_MAGIC: Final = b"\x93NUMPY"
_LONGEST_HEADER: Final = 1 << 14
_FORM: Final = re.compile(
    r"\{\s*'descr':\s*'(?P<kind>[<>|=]?[a-zA-Z][0-9]{0,5})',\s*'fortran_order':\s*(?P<fortran>True|False),"
    r"\s*'shape':\s*\((?P<shape>[0-9, ]{0,200})\),?\s*\}\s*"
)
_LONGEST_NUMBER: Final = 18
_LONGEST_TEXT: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NpyArray:
    """An array whose values are not yet read.

    Attributes:
        kind: ``u`` and ``i`` for integers, ``U`` for text, ``S`` for bytes.
        item_bytes: Size of one value.
        records: The content after the header.
    """

    kind: str
    item_bytes: int
    big_endian: bool
    shape: tuple[int, ...]
    records: Records

    def values(self) -> Iterator[str | int | None]:
        """The values of a one-dimensional array; None for text that is not UTF-8."""
        order: str = ">" if self.big_endian else "<"
        for content in self.records.each(self.item_bytes, self.shape[0]):
            if self.kind in "ui":
                yield int.from_bytes(content, "big" if order == ">" else "little", signed=self.kind == "i")
            else:
                yield _text(content, "utf-32-be" if order == ">" else "utf-32-le", self.kind)


def read_npy(pieces: Iterator[bytes], name: str) -> NpyArray:
    """Read the header of an array, which errors call by its name.

    Raises:
        DamagedUpload: It is not an NPY file, or truncated.
        WrongArchive: It does not contain integers or text, or is in Fortran order.
    """
    records = Records(pieces, damaged(name))
    head = records.take(8)
    if not head.startswith(_MAGIC) or head[6] not in {1, 2, 3}:
        raise damaged(name)
    (length,) = struct.unpack("<H", records.take(2)) if head[6] == 1 else struct.unpack("<I", records.take(4))
    if length > _LONGEST_HEADER:
        raise damaged(name)
    found = _FORM.fullmatch(records.take(length).decode("latin-1"))
    if found is None:
        raise wrong_kind(name)
    if found["fortran"] == "True":
        raise WrongArchive(
            f"The array '{name}' is stored in Fortran order.",
            remedy="Save numpy.ascontiguousarray(array) in its place.",
            array=name,
        )
    order, kind, size = _kind(found["kind"])
    lengths = [text.strip() for text in found["shape"].split(",") if text.strip()]
    if not all(text.isdigit() and len(text) <= _LONGEST_NUMBER for text in lengths):
        raise damaged(name)
    item_bytes = 4 * size if kind == "U" else size
    if not (kind in "ui" and size in {1, 2, 4, 8}) and not (kind in "US" and 1 <= size <= _LONGEST_TEXT):
        raise wrong_kind(name)
    shape = tuple(int(text) for text in lengths)
    return NpyArray(kind=kind, item_bytes=item_bytes, big_endian=order == ">", shape=shape, records=records)


def damaged(name: str) -> DamagedUpload:
    """The error for a truncated or invalid array."""
    return DamagedUpload(
        f"The array '{name}' is cut off or damaged.", remedy="Write the file again with numpy.savez."
    )


def wrong_kind(name: str) -> WrongArchive:
    """The error for an array of an unsupported type."""
    return WrongArchive(
        f"The array '{name}' has an unsupported type.",
        remedy="Images are uint8; labels and units are whole numbers or text. Pickled objects are never read.",
        array=name,
    )


def _kind(text: str) -> tuple[str, str, int]:
    order, rest = (text[0], text[1:]) if text[0] in "<>|=" else ("<", text)
    return order, rest[0], int(rest[1:] or 0)


def _text(content: bytes, wide: str, kind: str) -> str | None:
    try:
        text = content.decode(wide if kind == "U" else "utf-8")
        text.encode()
    except UnicodeError:
        return None
    return text.rstrip("\0")
