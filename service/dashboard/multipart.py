"""Streaming parser for a multipart form with one file (RFC 7578): the fields first, then the file in chunks.

Only the format of our own page is supported: text fields, then the file; anything after the file is ignored. All parts
but the file are small and bounded. At most one chunk of the file plus the length of a boundary is held in memory.
"""

from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import HeaderParser
from email.utils import collapse_rfc2231_value
from typing import Final

from service.problem import MalformedRequest

MEDIA_TYPE: Final = "multipart/form-data"
MOST_HEADERS: Final = 8192
MOST_FIELD: Final = 4096
MOST_FIELDS: Final = 10
_LONGEST_BOUNDARY: Final = 70
_END: Final = b"--"


def boundary_of(content_type: str) -> bytes | None:
    """The boundary in a content type; None if it is not multipart form data."""
    sent = Message()
    sent["content-type"] = content_type
    boundary = sent.get_param("boundary")
    fits = isinstance(boundary, str) and boundary.isascii() and 0 < len(boundary) <= _LONGEST_BOUNDARY
    return str(boundary).encode() if fits and sent.get_content_type() == MEDIA_TYPE else None


class FileForm:
    """A form with a file, parsed while the chunks of its body arrive."""

    def __init__(self, pieces: Iterator[bytes], boundary: bytes) -> None:
        self._pieces = pieces
        self._delimiter = b"\r\n--" + boundary
        # The first boundary may start the body without a preceding line break.
        self._buffer = bytearray(b"\r\n")
        self.file_name = ""

    def fields(self) -> Mapping[str, str]:
        """Read the fields before the file; the file comes next.

        Raises:
            MalformedRequest: Not such a form, or no file in it.
        """
        found: dict[str, str] = {}
        self._take(self._delimiter, most=MOST_HEADERS)
        while len(found) <= MOST_FIELDS:
            self._take(b"\r\n", most=len(_END))
            headers = HeaderParser().parsestr(
                self._take(b"\r\n\r\n", most=MOST_HEADERS).decode(errors="replace")
            )
            place = "content-disposition"
            file_name = headers.get_param("filename", header=place)
            if file_name is not None:
                self.file_name = collapse_rfc2231_value(file_name)
                return found
            name = str(headers.get_param("name", header=place))
            found[name] = self._take(self._delimiter, most=MOST_FIELD).decode(errors="replace")
        raise _malformed()

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the bytes of the file.

        Raises:
            MalformedRequest: The body ended before the file did.
        """
        kept = len(self._delimiter) - 1
        while (at := self._buffer.find(self._delimiter)) < 0:
            if len(self._buffer) > kept:
                yield bytes(self._buffer[:-kept])
                del self._buffer[:-kept]
            self._more()
        if at:
            yield bytes(self._buffer[:at])
        for _ in self._pieces:
            """Content after the file is ignored, but must be read off the connection."""

    def _take(self, mark: bytes, *, most: int) -> bytes:
        """Consume everything up to and including a marker; return the part before it."""
        while (at := self._buffer.find(mark)) < 0:
            if len(self._buffer) > most + len(mark):
                raise _malformed()
            self._more()
        if at > most:
            raise _malformed()
        taken = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return taken

    def _more(self) -> None:
        piece = next(self._pieces, None)
        if piece is None:
            raise _malformed()
        self._buffer += piece


def _malformed() -> MalformedRequest:
    return MalformedRequest("The form with the file could not be read.", remedy="Load the page again.")
