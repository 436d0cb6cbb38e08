"""Show a contact sheet in the terminal with half-block characters, without an image library.

Reads only the form of PNG that the service writes: 8 bits, grey or colour, rows without filter. What it shows is
synthetic: nothing else is ever downloaded as a contact sheet.
"""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from rich.color import Color
from rich.style import Style
from rich.text import Text

from understudy.errors import InputUnusable

MOST_BYTES = 2**28
"""Largest number of bytes that the pixels of a sheet may have; the service draws none that is larger."""
MOST_LINES = 60
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3}
_SAMPLES = 4
"""Pixels along each side of a square that are averaged into one; more cannot be distinguished."""

Shade = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The pixels of a PNG file.

    Attributes:
        width: pixels of a row.
        height: rows of pixels.
        channels: 1 or 3 numbers a pixel.
        lines: the rows, one after another; each has a filter byte before its pixels.
    """

    width: int
    height: int
    channels: int
    lines: bytes

    def shade(self, top: int, left: int, side: int) -> Shade:
        """Return the mean colour of a square of pixels, cut at the edges of the sheet."""
        step = max(1, side // _SAMPLES)
        length = 1 + self.width * self.channels
        totals, count = [0] * self.channels, 0
        for row in range(top, min(top + side, self.height), step):
            for column in range(left, min(left + side, self.width), step):
                place = row * length + 1 + column * self.channels
                for channel in range(self.channels):
                    totals[channel] += self.lines[place + channel]
                count += 1
        red, green, blue = [total // count for total in totals] * (3 // self.channels)
        return red, green, blue


def read_sheet(file: Path) -> Sheet:
    """Read a contact sheet.

    Raises:
        InputUnusable: if it is not one that the service wrote.
    """
    try:
        return _sheet(file.read_bytes())
    except (ValueError, struct.error, zlib.error, KeyError):
        message = f"{file} is no contact sheet that can be shown here; any viewer of images opens a PNG file"
        raise InputUnusable(message) from None


def _sheet(content: bytes) -> Sheet:
    if not content.startswith(_SIGNATURE):
        raise ValueError
    place, header, packed = len(_SIGNATURE), b"", []
    while place < len(content):
        length, name = struct.unpack_from(">I4s", content, place)
        part = content[place + 8 : place + 8 + length]
        if name == b"IHDR":
            header = part
        elif name == b"IDAT":
            packed.append(part)
        place += 12 + length
    width, height, bits, kind, *rest = struct.unpack(">IIBBBBB", header)
    channels = _CHANNELS[kind]
    expected = height * (1 + width * channels)
    if bits != 8 or any(rest) or not 0 < expected <= MOST_BYTES:  # noqa: PLR2004 - bits of a byte
        raise ValueError
    lines = zlib.decompressobj().decompress(b"".join(packed), expected)
    if len(lines) != expected or any(lines[:: 1 + width * channels]):
        raise ValueError
    return Sheet(width=width, height=height, channels=channels, lines=lines)


def half_blocks(sheet: Sheet, *, columns: int) -> Text:
    """Return the sheet as text: every character is an upper half block over a background, so it holds two pixels.

    A sheet that is wider than the terminal is made smaller by a whole factor, and cut at sixty lines.
    """
    side = max(1, -(-sheet.width // columns))
    text = Text(no_wrap=True)
    for top in range(0, min(sheet.height, 2 * MOST_LINES * side), 2 * side):
        for left in range(0, sheet.width, side):
            upper = Color.from_rgb(*sheet.shade(top, left, side))
            lower = Color.from_rgb(*sheet.shade(min(top + side, sheet.height - 1), left, side))
            text.append("▀", Style(color=upper, bgcolor=lower))
        text.append("\n")
    return text
