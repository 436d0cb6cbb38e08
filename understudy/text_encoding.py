"""The encoding of a CSV file on the owner's machine: guessed for a draft, and decoded as the domain declares.

The service decodes by itself (``core.data.intake.text_encoding``).
"""

import codecs
import io
import re
from collections.abc import Iterator
from typing import IO, Any, Final

UTF8: Final = "utf-8"
WINDOWS: Final = "windows-1252"
UTF16: Final = "utf-16"
ENCODINGS: Final = (UTF8, WINDOWS, "iso-8859-15", UTF16)
"""Encodings that a domain may declare."""
_CODECS: Final = {WINDOWS: "cp1252", "iso-8859-15": "iso8859-15", UTF16: "utf-16"}
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LONGEST_MARK: Final = 3
_PIECE_BYTES: Final = 1 << 16
_NO_TEXT: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def begins_as_utf16(head: bytes) -> bool:
    """Whether a file begins with a byte order mark of UTF-16."""
    return head.startswith(_WIDE_MARKS)


def as_utf8(file: IO[bytes], encoding: str) -> Any:  # noqa: ANN401 - any binary file
    """A binary file, at its beginning, as one of the same text in UTF-8; its reads raise UnicodeDecodeError where the file is in another encoding.

    Raises:
        LookupError: The encoding is none of ``ENCODINGS``.
    """
    return file if encoding == UTF8 else io.BufferedReader(_Decoded(file, encoding))


class _Decoded(io.RawIOBase):
    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._texts = _texts(file, encoding, _CODECS[encoding])
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a writable buffer
        while not self._left:
            if (text := next(self._texts, None)) is None:
                return 0
            self._left = text.encode()
        taken, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


def _texts(file: IO[bytes], encoding: str, codec: str) -> Iterator[str]:
    piece = file.read(_PIECE_BYTES)
    is_wide = begins_as_utf16(piece)
    if is_wide != (encoding == UTF16) or piece.startswith(codecs.BOM_UTF8):
        raise UnicodeDecodeError(
            codec, piece[:_LONGEST_MARK], 0, 1, "the byte order mark is of another encoding"
        )
    decoder = codecs.getincrementaldecoder(codec)()
    while piece:
        yield decoder.decode(piece)
        piece = file.read(_PIECE_BYTES)
    yield decoder.decode(b"", final=True)


def guessed_encoding(file: IO[bytes]) -> str | None:
    """The encoding of a file that is not UTF-8: UTF-16 by its byte order mark, Windows-1252 if every byte is a character of it.

    None if neither, or if the file looks like damaged UTF-8: more of its characters are whole in UTF-8 than are not.
    """
    piece = file.read(_PIECE_BYTES)
    is_wide = begins_as_utf16(piece)
    decoder = codecs.getincrementaldecoder(_CODECS[UTF16 if is_wide else WINDOWS])()
    as_damaged = codecs.getincrementaldecoder(UTF8)(errors="replace")
    whole = broken = 0
    try:
        while True:
            is_last = not piece
            if "\0" in decoder.decode(piece, final=is_last) or (not is_wide and _NO_TEXT.search(piece)):
                return None
            if not is_wide:
                text = as_damaged.decode(piece, final=is_last)
                broken += text.count("\ufffd")
                whole += len(text) - len(text.encode("ascii", "ignore")) - text.count("\ufffd")
            if is_last:
                break
            piece = file.read(_PIECE_BYTES)
    except UnicodeDecodeError:
        return None
    if is_wide:
        return UTF16
    return WINDOWS if broken > whole else None


def why_guessed(encoding: str) -> str:
    """The reason for a guessed encoding, for the owner."""
    if encoding == UTF16:
        return "The file is not UTF-8: it begins with the byte order mark of UTF-16, and is read so."
    return (
        "The file is not UTF-8; every byte is a character of Windows-1252, as spreadsheets write it, and it is read so. Check words with accents: if"
        " they are wrong, draft again with --encoding."
    )
