"""Synthetic records of a release as files: what a bundle can be sampled into, whatever it generates."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar, Protocol

from core.releases import formats, image_formats
from core.releases.bundle import unpack
from core.releases.errors import FormatNotForRelease
from core.releases.image_sampler import ImageSampler
from core.releases.manifest import ImageManifest, TableManifest
from core.releases.sampler import Sampler

Pieces = Generator[bytes, None, None]


class Samples(Protocol):
    """An opened generator that writes files. Safe to use from several threads at once."""

    MEDIA_TYPES: ClassVar[Mapping[str, str]]
    """Media type by format; the first format is the usual one."""

    def write(self, rows: int, file_format: str) -> Pieces:
        """Begin a file of so many records, drawn as its pieces are asked for; closing it stops the work.

        Args:
            rows: How many records.
            file_format: One of ``MEDIA_TYPES``.

        Raises:
            FormatNotForRelease: What is generated has no such format.
            TooManyForFormat: The format is for fewer images.
        """
        ...


@dataclass(frozen=True, slots=True)
class TableSamples:
    """Rows as CSV, Parquet, JSON lines or an Arrow stream."""

    MEDIA_TYPES: ClassVar[Mapping[str, str]] = formats.MEDIA_TYPES
    sampler: Sampler

    def write(self, rows: int, file_format: str) -> Pieces:
        """See `Samples.write`."""
        _require(file_format, self.MEDIA_TYPES)
        return _closing(formats.stream(self.sampler.batches(rows), file_format))


@dataclass(frozen=True, slots=True)
class ImageSamples:
    """Images as arrays, PNG files in a ZIP, or a contact sheet."""

    MEDIA_TYPES: ClassVar[Mapping[str, str]] = image_formats.MEDIA_TYPES
    sampler: ImageSampler

    def write(self, rows: int, file_format: str) -> Pieces:
        """See `Samples.write`."""
        _require(file_format, self.MEDIA_TYPES)
        return _closing(image_formats.stream_images(self.sampler.sample(rows), file_format))


def open_samples(source: bytes | Path | BinaryIO, *, threads: int = 1) -> Samples:
    """Open a bundle of any kind for sampling.

    Args:
        source: The ZIP: its bytes, a path or an open binary file.
        threads: CPU threads that draw.

    Raises:
        BundleInvalid: The bundle is damaged or of an unknown version.
    """
    bundle = unpack(source)
    match bundle.manifest:
        case TableManifest():
            return TableSamples(Sampler(bundle, threads=threads))
        case ImageManifest():
            return ImageSamples(ImageSampler(bundle, threads=threads))


def _require(file_format: str, possible: Mapping[str, str]) -> None:
    if file_format not in possible:
        raise FormatNotForRelease(possible=tuple(possible))


def _closing(pieces: Iterator[bytes]) -> Pieces:
    try:
        yield from pieces
    finally:
        pieces.close()  # type: ignore[attr-defined]  # a generator: closing it stops its threads
