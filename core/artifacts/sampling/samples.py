"""Synthetic records of a release as files, for bundles of any kind."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, ClassVar, Final, Protocol

from core.artifacts.bundle import is_model, unpack
from core.artifacts.errors import FormatNotForRelease, NothingToDraw, SpreadsheetSafeIsForCsv
from core.artifacts.manifest import ImageManifest, TableManifest
from core.artifacts.sampling import formats, image_formats
from core.artifacts.sampling.conditions import Where, image_label
from core.artifacts.sampling.image_sampler import ImageSampler
from core.artifacts.sampling.sampler import Sampler
from core.artifacts.sampling.value_conditions import Conditions
from core.plan.domain.columns.kinds import TimeColumn
from core.plan.domain.table import TableDomain

Pieces = Generator[bytes, None, None]
NO_CONDITION: Final[Where] = MappingProxyType({})


class Samples(Protocol):
    """A generator that writes files of samples. Safe to use from several threads at once."""

    MEDIA_TYPES: ClassVar[Mapping[str, str]]
    """Media type by format; the first format is the usual one."""

    def write(
        self, rows: int, file_format: str, where: Where = NO_CONDITION, *, spreadsheet_safe: bool = False
    ) -> Pieces:
        """Begin a file of records, drawn as its pieces are consumed; closing it stops the threads.

        Args:
            file_format: One of ``MEDIA_TYPES``.
            where: Conditions by column (`core.artifacts.sampling.value_conditions.requested_conditions`).
            spreadsheet_safe: Whether an apostrophe is put before text that a spreadsheet would run as a formula.

        Raises:
            FormatNotForRelease: The release's kind of data has no such format.
            SpreadsheetSafeIsForCsv: `spreadsheet_safe` with another format.
            TooManyForFormat: The format has a limit on the number of images.
            InvalidCondition: No such column or value exists.
            ConditionTooRare: Too few rows meet the condition.
        """
        ...


@dataclass(frozen=True, slots=True)
class TableSamples:
    """Rows as CSV, Parquet, JSON lines or an Arrow stream."""

    MEDIA_TYPES: ClassVar[Mapping[str, str]] = formats.MEDIA_TYPES
    sampler: Sampler

    def write(
        self,
        rows: int,
        file_format: str,
        where: Where | Conditions = NO_CONDITION,
        *,
        spreadsheet_safe: bool = False,
    ) -> Pieces:
        """See `Samples.write`; conditions that a program read are taken too."""
        _require(file_format, self.MEDIA_TYPES, spreadsheet_safe=spreadsheet_safe)
        batches = self.sampler.batches_where(rows, where) if where else self.sampler.batches(rows)
        written = written_formats(self.sampler.domain)
        return _closing(
            formats.stream(batches, file_format, spreadsheet_safe=spreadsheet_safe, written=written)
        )


@dataclass(frozen=True, slots=True)
class ImageSamples:
    """Images as arrays, PNG files in a ZIP, or a contact sheet."""

    MEDIA_TYPES: ClassVar[Mapping[str, str]] = image_formats.MEDIA_TYPES
    sampler: ImageSampler

    def write(
        self, rows: int, file_format: str, where: Where = NO_CONDITION, *, spreadsheet_safe: bool = False
    ) -> Pieces:
        """See `Samples.write`."""
        _require(file_format, self.MEDIA_TYPES, spreadsheet_safe=spreadsheet_safe)
        sample = self.sampler.sample(rows, label=image_label(self.sampler.domain, where))
        return _closing(image_formats.stream_images(sample, file_format))


def written_formats(domain: TableDomain) -> dict[str, str]:
    """Formats of dates and times in text files, by column; columns written as ISO 8601 are left out."""
    return {
        column.name: column.written_format
        for column in domain.modelled
        if isinstance(column, TimeColumn) and column.written_format is not None
    }


def open_samples(source: bytes | Path | BinaryIO, *, threads: int = 1) -> Samples:
    """Open a bundle of any kind for sampling.

    Args:
        source: The ZIP: its bytes, a path or an open binary file.

    Raises:
        BundleInvalid: The bundle is damaged or of an unknown version.
        NothingToDraw: It holds a private model.
    """
    if is_model(source):
        raise NothingToDraw
    bundle = unpack(source)
    match bundle.manifest:
        case TableManifest():
            return TableSamples(Sampler(bundle, threads=threads))
        case ImageManifest():
            return ImageSamples(ImageSampler(bundle, threads=threads))


def _require(file_format: str, possible: Mapping[str, str], *, spreadsheet_safe: bool) -> None:
    if file_format not in possible:
        raise FormatNotForRelease(possible=tuple(possible))
    if spreadsheet_safe and file_format != "csv":
        raise SpreadsheetSafeIsForCsv


def _closing(pieces: Iterator[bytes]) -> Pieces:
    try:
        yield from pieces
    finally:
        pieces.close()  # type: ignore[attr-defined]  # a generator: closing it stops its threads
