"""Intake of uploads: from untrusted bytes to sealed, clean, columnar rows. Write-only: nothing is read back.

One pass in constant memory. CSV (and gzip of it) is split into blocks of whole records while it arrives,
parsed and cleaned by a few threads, and written in order as an Arrow IPC stream that is sealed before it
reaches the disk: plaintext exists in memory only. Arrow's parser runs on validated text, so its errors, which
quote values, are never shown. Cleaning is vectorised and never silently rounds 3.7 to 4
(benchmarks/service/ingestion.py measures its speed). Parquet is spooled first (``core.data.intake.parquet_table``), and
so are archives of images.

Storage is atomic: the sink is complete only after the last row, and only then ``store_rows`` puts it under
its key.
"""

import io
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, TypeVar, cast

from core.data.errors import EmptyUpload, NoAcceptableRows
from core.data.intake.clean_rows import CleanBlock
from core.data.intake.csv_records import Block, blocks_of, check_text, split_first
from core.data.intake.csv_table import CsvTable
from core.data.intake.header import csv_header, require_declared_delimiter
from core.data.intake.image_archive import ImageArchive
from core.data.intake.image_arrays import idx_blocks, is_idx, npz_blocks
from core.data.intake.intake_report import IntakeReport, Problem, ReportBuilder
from core.data.intake.parquet_table import ParquetTable, spooled
from core.data.intake.sniffing import CSV, GZIP, NPZ, PARQUET, ZIP, kind_of, require_fitting, sniffed
from core.data.intake.spool import spool_file
from core.data.intake.text_encoding import as_utf8
from core.data.intake.unit_limit import UnitLimit
from core.data.intake.unpacking import IntakeLimits, gunzip, pieces_of
from core.data.intake.zip_directory import read_directory
from core.data.objects import ObjectStore
from core.data.sealing import SealedReader, SealedWriter
from core.data.stored_rows import open_writer, rows_context
from core.plan.domain.declared import Domain
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain

__all__ = ["CSV", "GZIP", "NPZ", "PARQUET", "ZIP", "receive", "store_rows"]

_T = TypeVar("_T")
_BUFFER_BYTES: Final = 1 << 16


def receive(
    stream: Iterable[bytes] | BinaryIO,
    *,
    content_type: str,
    domain: Domain,
    sink: BinaryIO,
    scratch_folder: Path,
    limits: IntakeLimits | None = None,
    units: UnitLimit | None = None,
    threads: int = 2,
) -> IntakeReport:
    """Write the acceptable rows of an upload to a sink (a ``SealedWriter``), which the caller closes on success.

    Args:
        stream: The upload, in pieces or as a binary file.
        content_type: ``text/csv``, ``application/gzip`` (of CSV) or ``application/vnd.apache.parquet`` for a table,
            ``application/zip`` or ``application/x-npz`` for images.
        sink: Receives the Arrow IPC stream.
        scratch_folder: Where Parquet and archives are spooled (sealed, unlinked).
        limits: None for the defaults.
        units: Maximum number of privacy units; None for no limit.

    Raises:
        UnsupportedUpload, ContentDisagrees, EmptyUpload, WrongHeader, NotUtf8, WrongEncoding, NulByte, StrayQuote, BareCarriageReturn, RecordTooLong,
        DamagedUpload, UploadTooLarge, DecompressionBomb, DomainMismatch, WrongArchive, TooManyImages: the
        upload is invalid; nothing of it may be stored.
        DecoderUnavailable: images cannot be decoded at the moment.
        TooManyUnits: more privacy units than ``units`` allows.
        NoAcceptableRows: every row was refused; its facts contain the report.
    """
    limits = limits or IntakeLimits()
    kind = kind_of(content_type)
    require_fitting(content_type, domain)
    pieces = sniffed(pieces_of(stream, limits), kind)
    first = next(pieces, b"")
    if not first:
        raise EmptyUpload("The upload has no bytes.")
    pieces = chain([first], pieces)
    with ExitStack() as stack:
        if isinstance(domain, ImageDomain):
            spool = stack.enter_context(spooled(pieces, scratch_folder))
            position, blocks = _images(spool, kind, domain, limits)
        else:
            position, blocks = _table(stack, pieces, kind, domain, scratch_folder, limits, threads)
        stack.enter_context(closing(blocks))
        report = ReportBuilder(position)
        writer = stack.enter_context(open_writer(sink, domain))
        for block in blocks:
            writer.write_batch(block.batch)
            if units is not None:
                units.see(block.batch)
            _add(report, block)
    if units is not None:
        units.finish()
    finished = report.finish()
    if finished.rows_accepted == 0:
        if finished.rows_refused == 0:
            raise EmptyUpload("The file has no rows.")
        raise NoAcceptableRows(
            "Every row was refused.",
            remedy="The report says where and why; compare it with the declared domain.",
            report=finished.to_json(),
        )
    return finished


def store_rows(
    stream: Iterable[bytes] | BinaryIO,
    *,
    content_type: str,
    domain: Domain,
    store: ObjectStore,
    key: str,
    data_key: bytes,
    scratch_folder: Path,
    limits: IntakeLimits | None = None,
    units: UnitLimit | None = None,
    threads: int = 2,
) -> IntakeReport:
    """Receive an upload and put the sealed rows under a key: all of them or, on any error, none.

    Arguments and errors are those of ``receive``; ``core.data.private_rows.open_private_rows`` opens the
    result.
    """
    with spool_file(scratch_folder) as (file, path):
        with SealedWriter(file, key=data_key, context=rows_context(key)) as sink:
            report = receive(
                stream, content_type=content_type, domain=domain, sink=cast("BinaryIO", sink),
                scratch_folder=scratch_folder, limits=limits, units=units, threads=threads,
            )  # fmt: skip
        store.put_file(key, path)
    return report


def _images(
    spool: SealedReader, kind: str, domain: ImageDomain, limits: IntakeLimits
) -> tuple[str, Generator[CleanBlock]]:
    """Return what row numbers count (``line``, ``entry`` or ``row``), and the rows of a zip or npz archive."""
    source: BinaryIO = io.BufferedReader(spool, _BUFFER_BYTES)
    directory = read_directory(source, spool.size, limits)
    if not len(directory.entries):
        raise EmptyUpload("The archive contains no files.")
    if kind == NPZ:
        return "row", npz_blocks(source, directory, domain, limits)
    if is_idx(source, directory):
        return "row", idx_blocks(source, directory, domain, limits)
    archive = ImageArchive(source, directory, domain, limits)
    return archive.position, archive.blocks()


def _table(
    stack: ExitStack,
    pieces: Iterator[bytes],
    kind: str,
    domain: TableDomain,
    scratch_folder: Path,
    limits: IntakeLimits,
    threads: int,
) -> tuple[str, Generator[CleanBlock]]:
    pool = stack.enter_context(ThreadPoolExecutor(threads))
    if kind == PARQUET:
        table = ParquetTable(stack.enter_context(spooled(pieces, scratch_folder)), domain, limits)
        return "row", _number_rows(_in_order(pool, threads, table.clean, table.batches()))
    plain = sniffed(gunzip(pieces, limits), CSV, unpacked=True) if kind == GZIP else pieces
    return "line", _in_order(pool, threads, *_csv_work(plain, domain, limits))


def _csv_work(
    pieces: Iterable[bytes], domain: TableDomain, limits: IntakeLimits
) -> tuple[Callable[[Block], CleanBlock], Iterator[Block]]:
    dialect = domain.csv
    text = as_utf8(pieces, dialect.encoding)
    blocks = blocks_of(text, quote=dialect.quote, max_record_bytes=limits.max_record_bytes)
    first = next(blocks, None)
    if first is None:
        raise EmptyUpload("The file has no lines.")
    names = [column.name for column in domain.columns]
    if dialect.header:
        if len(names) > 1:
            require_declared_delimiter(domain, first.data)
        check_text(first, quote=dialect.quote, delimiter=dialect.delimiter)
        header, first = split_first(first, dialect.quote)
        names = csv_header(domain, header)
    table = CsvTable(domain, names)
    return table.clean, chain([first] if first.data else [], blocks)


def _in_order(
    pool: ThreadPoolExecutor, threads: int, work: Callable[[_T], CleanBlock], items: Iterable[_T]
) -> Generator[CleanBlock]:
    """Results in the order of the items, with at most ``threads + 1`` items in progress."""
    waiting: deque[Future[CleanBlock]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(partial(work, item)))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _number_rows(blocks: Iterable[CleanBlock]) -> Generator[CleanBlock]:
    """Count the rows of problems from 1 through the whole file."""
    start = 1
    for block in blocks:
        block.problems[:] = [(start + row, name, kind) for row, name, kind in block.problems]
        start += block.batch.num_rows + block.rows_refused
        yield block


def _add(report: ReportBuilder, block: CleanBlock) -> None:
    report.add(
        accepted=block.batch.num_rows,
        refused=block.rows_refused,
        changes=block.changes,
        refusals=block.refusals,
        problems=(Problem(line=line, column=name, kind=kind) for line, name, kind in block.problems),
    )
