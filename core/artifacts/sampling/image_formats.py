"""Synthetic images as a byte stream: arrays (NPZ), a ZIP of PNG files, or one contact sheet.

Arrays and contact sheets take constant memory. A ZIP of PNG files keeps its table of contents, so the number of files is
bounded. No file contains a time, and none needs pickle to be read.
"""

import csv
import io
import math
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from core.artifacts.drained_file import DrainedFile
from core.artifacts.errors import TooManyForFormat
from core.artifacts.sampling.drawing import in_order
from core.artifacts.sampling.image_sampler import ImageSample
from core.artifacts.sampling.png import encode_png, stream_png

# ZIP cannot say "no date"; this is its earliest one.
_NO_DATE: Final = (1980, 1, 1, 0, 0, 0)
MOST_FILES: Final = 100_000
"""Maximum number of PNG files in one ZIP; each takes some 400 bytes of memory until the end."""
LARGEST_SHEET: Final = 2**24
"""Maximum number of pixels of a contact sheet; viewers fail to open larger ones."""
GAP: Final = 2
"""Pixels around every image of a contact sheet."""
GAP_SHADE: Final = 128

MEDIA_TYPES: Final = {
    "npz": "application/zip",
    "zip": "application/zip",
    "png": "image/png",
}


def _npz(sample: ImageSample) -> Iterator[bytes]:
    """``label_names``, ``labels`` int16 and ``images`` uint8 (images, height, width, channels), not compressed."""
    domain = sample.sampler.domain
    names = np.array(domain.labels, dtype=np.str_)
    shape = (sample.images, domain.height, domain.width, domain.channels)
    drained = DrainedFile()
    with zipfile.ZipFile(drained, "w") as archive:
        with archive.open(_entry("label_names.npy"), "w") as member:
            npy.write_array(member, names, allow_pickle=False)
        yield drained.take()
        yield from _member(archive, drained, "labels.npy", np.int16, shape[:1], sample.labels())
        pixels = (batch.pixels for batch in sample.batches())
        yield from _member(archive, drained, "images.npy", np.uint8, shape, pixels)
    yield drained.take()


def _member(
    archive: zipfile.ZipFile,
    drained: DrainedFile,
    name: str,
    kind: type[np.generic],
    shape: tuple[int, ...],
    parts: Iterator[NDArray[np.generic]],
) -> Iterator[bytes]:
    """One array, written in parts: an array file is a header with the shape, then the numbers."""
    dtype = np.dtype(kind).newbyteorder("<")
    entry = _entry(name)
    # Decides whether the entry's sizes need 64 bits; they are written after its content.
    entry.file_size = math.prod(shape) * dtype.itemsize + 2**16
    with archive.open(entry, "w") as member:
        header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(member, header)
        for part in parts:
            member.write(np.ascontiguousarray(part, dtype=dtype).data)
            yield drained.take()


def _png_files(sample: ImageSample) -> Iterator[bytes]:
    """``labels.csv`` with the columns file and label where labels are declared, then ``images/000000.png`` ..."""
    domain = sample.sampler.domain
    drained = DrainedFile()
    number = 0
    with zipfile.ZipFile(drained, "w") as archive:
        if domain.labels:
            entry = _entry("labels.csv")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, _label_file(sample))
            yield drained.take()
        for batch in sample.batches():
            for pixels in batch.pixels:
                archive.writestr(_entry(_file_name(number)), encode_png(pixels))
                number += 1
            yield drained.take()
    yield drained.take()


def _label_file(sample: ImageSample) -> str:
    words = sample.sampler.domain.labels
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("file", "label"))
    codes = (code for labels in sample.labels() for code in labels.tolist())
    writer.writerows((_file_name(number), words[code]) for number, code in enumerate(codes))
    return text.getvalue()


def _file_name(number: int) -> str:
    return f"images/{number:06d}.png"


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _NO_DATE)
    entry.external_attr = 0o644 << 16
    return entry


def _sheet(sample: ImageSample) -> Iterator[bytes]:
    """A row of images for every label, in the declared order; labels take turns until all images are placed.

    Images of one label, like those without labels, fill a square.
    """
    domain = sample.sampler.domain
    by_label = bool(domain.labels) and sample.label is None
    tall, wide = domain.height + GAP, domain.width + GAP
    rows, columns = sheet_grid(sample.images, labels=len(domain.labels) if by_label else 0)

    def band(row: int) -> NDArray[np.uint8]:
        # Row r of labelled images contains the images r, r + rows, ...; unlabelled images are in order.
        left = len(range(row, sample.images, rows)) if by_label else sample.images - row * columns
        label = row if by_label else sample.label or 0
        images = sample.sampler.draw(np.full(min(columns, left), label, dtype=np.int16))
        pixels = np.full((tall, columns * wide + GAP, domain.channels), GAP_SHADE, dtype=np.uint8)
        for place, image in enumerate(images):
            corner = GAP + place * wide
            pixels[GAP:, corner : corner + domain.width] = image
        return pixels

    def bands() -> Iterator[NDArray[np.uint8]]:
        yield from in_order((partial(band, row) for row in range(rows)), threads=sample.sampler.threads)
        yield np.full((GAP, columns * wide + GAP, domain.channels), GAP_SHADE, dtype=np.uint8)

    shown = domain.labels[:rows] if by_label else domain.labels[sample.label or 0 :][:1]
    words = ", ".join(shown) or "none"
    yield from stream_png(
        bands(),
        height=rows * tall + GAP,
        width=columns * wide + GAP,
        channels=domain.channels,
        texts={"Description": f"Synthetic images; rows from the top: {words}"},
    )


def sheet_grid(images: int, *, labels: int) -> tuple[int, int]:
    """Rows and columns of a contact sheet: a row for every label, nearly a square without labels."""
    if labels:
        rows = min(labels, images)
        return rows, -(-images // rows)
    columns = math.isqrt(images - 1) + 1
    return -(-images // columns), columns


_WRITERS: Final = {"npz": _npz, "zip": _png_files, "png": _sheet}


def most_images(sample: ImageSample, name: str) -> int | None:
    """Maximum number of images in a file of this format; None if unbounded."""
    if name == "npz":
        return None
    domain = sample.sampler.domain
    pixels = (domain.height + GAP) * (domain.width + GAP)
    return MOST_FILES if name == "zip" else max(1, LARGEST_SHEET // pixels)


def stream_images(sample: ImageSample, name: str) -> Iterator[bytes]:
    """Write a sample as ``npz``, ``zip`` or ``png``.

    Returns:
        The file's bytes, piece by piece; closing the iterator stops the work.

    Raises:
        TooManyForFormat: The format is for fewer images.
    """
    most = most_images(sample, name)
    if most is not None and sample.images > most:
        raise TooManyForFormat(most=most)
    return _WRITERS[name](sample)
