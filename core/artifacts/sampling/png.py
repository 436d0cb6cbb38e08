"""Writing PNG files, whole or a band at a time: 8 bits, grey or colour, no filter, no time stamp.

The format is https://www.w3.org/TR/png-3: a signature, then chunks of length, name, content and CRC-32. Pixels
are rows, each with a filter byte of zero before it, in one zlib stream.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES: Final = {1: 0, 3: 2}
"""Colour type by number of channels: grey; red, green and blue."""
_BITS: Final = 8


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Return one image as a PNG file.

    Args:
        pixels: (height, width, channels), with 1 or 3 channels.
    """
    height, width, channels = pixels.shape
    return b"".join(stream_png([pixels], height=height, width=width, channels=channels))


def stream_png(
    bands: Iterable[NDArray[np.uint8]],
    *,
    height: int,
    width: int,
    channels: int,
    texts: Mapping[str, str] | None = None,
) -> Iterator[bytes]:
    """Yield a PNG file, a piece for each band of rows.

    Args:
        bands: (rows, width, channels) each; together they have ``height`` rows.
        channels: 1 or 3.
        texts: Metadata of the file by keyword (Latin letters).
    """
    header = struct.pack(">IIBBBBB", width, height, _BITS, _COLOUR_TYPES[channels], 0, 0, 0)
    metadata = (_text(keyword, text) for keyword, text in (texts or {}).items())
    yield b"".join((_SIGNATURE, _chunk(b"IHDR", header), *metadata))
    compressor = zlib.compressobj()
    for band in bands:
        rows = np.zeros((len(band), 1 + width * channels), dtype=np.uint8)
        rows[:, 1:] = band.reshape(len(band), -1)
        if packed := compressor.compress(rows.tobytes()):
            yield _chunk(b"IDAT", packed)
    yield _chunk(b"IDAT", compressor.flush()) + _chunk(b"IEND", b"")


def _text(keyword: str, text: str) -> bytes:
    # International text: keyword, then "not compressed", no language, no translated keyword.
    return _chunk(b"iTXt", keyword.encode("latin-1") + b"\0\0\0\0\0" + text.encode())


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
