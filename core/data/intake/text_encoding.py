"""Decode the bytes of a CSV file by its declared encoding: what reads them afterwards sees UTF-8 only.

One pass in constant memory, before any other check: every limit and refusal of text holds for its UTF-8 form. A byte order mark decides only
whether a file fits its declaration, never how a file without one is read.
"""

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from core.data.errors import WrongEncoding
from core.data.intake.csv_records import cut_off
from core.plan.domain.table import UTF8, UTF16

_LONGEST_MARK: Final = 3
_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CODECS: Final = {"windows-1252": "cp1252", "iso-8859-15": "iso8859-15"}
_ORDERS: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def as_utf8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The pieces of a file, as sent or as unpacked, in UTF-8; pieces that the domain declares as UTF-8 are not touched.

    Raises:
        WrongEncoding: The file is not in this encoding.
        DamagedUpload: It ends inside a character.
    """
    return iter(pieces) if encoding == UTF8 else _decoded(iter(pieces), encoding)


def _decoded(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    head = b""
    while len(head) < _LONGEST_MARK and (piece := next(pieces, None)) is not None:
        head += piece
    mark = next((mark for mark in _MARKS if head.startswith(mark)), b"")
    if encoding == UTF16 and mark not in _ORDERS:
        raise _wrong(
            "The file does not begin with a byte order mark of UTF-16, as the domain declares.", encoding, 1
        )
    if encoding != UTF16 and mark:
        found = "UTF-16" if mark in _ORDERS else "UTF-8"
        raise _wrong(
            f"The file begins with the byte order mark of {found}; the domain declares {encoding}.",
            encoding,
            1,
        )
    codec = _ORDERS[mark] if encoding == UTF16 else _CODECS[encoding]
    pieces = chain([head[len(mark) :]] if encoding == UTF16 else [head], pieces)
    yield from _converted(pieces, codec, encoding)


def _converted(pieces: Iterator[bytes], codec: str, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(codec)()
    line = 1
    for piece in pieces:
        try:
            text = decoder.decode(piece)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].decode(codec).count("\n")
            raise _wrong(f"The text is not in {encoding}, as the domain declares.", encoding, line) from None
        line += text.count("\n")
        if text:
            yield text.encode()
    if decoder.getstate()[0]:
        raise cut_off(line, "character")


def _wrong(detail: str, encoding: str, line: int) -> WrongEncoding:
    return WrongEncoding(
        detail, line=line, encoding=encoding,
        remedy="Declare csv.encoding of the domain as the file is written, draft the domain anew, or save the file in the declared encoding.",
    )  # fmt: skip
