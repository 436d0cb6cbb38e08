"""Sampling without a server: the service's own engine over a bundle file, where it is installed.

The only module of the client that imports `core`; needs the extra ``understudy[offline]``. No private row is
reachable from here: a bundle holds the generator and nothing else.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from core.errors import UnderstudyError as EngineError
from core.releases.formats import stream
from core.releases.sampler import open_sampler
from understudy.client import Seen
from understudy.errors import InputUnusable


def sample_bundle(bundle: Path, *, rows: int, file_format: str, threads: int) -> Iterator[bytes]:
    """Yield synthetic rows as the bytes of a file.

    Args:
        bundle: the ZIP that the service sent.
        rows: number of rows.
        file_format: ``csv``, ``parquet`` or ``jsonl``.
        threads: CPU threads that draw.

    Raises:
        InputUnusable: if the file is no bundle that this version can read.
    """
    return stream(_batches(bundle, rows, threads), file_format)


def _batches(bundle: Path, rows: int, threads: int) -> Iterator[pa.RecordBatch]:
    try:
        sampler = open_sampler(bundle, threads=threads)
    except EngineError as error:
        raise InputUnusable(f"{bundle}: {error}") from error
    return sampler.batches(rows)


def sample_to_file(
    bundle: Path, target: Path, *, rows: int, file_format: str, threads: int, seen: Seen
) -> None:
    """Write synthetic rows to a file, whole or not at all.

    Args:
        bundle: the ZIP that the service sent.
        target: the file.
        rows: number of rows.
        file_format: ``csv``, ``parquet`` or ``jsonl``.
        threads: CPU threads that draw.
        seen: told the number of bytes of each piece.

    Raises:
        InputUnusable: if the file is no bundle that this version can read.
    """
    partial = target.with_name(f"{target.name}.part")
    try:
        with partial.open("wb") as file:
            for piece in sample_bundle(bundle, rows=rows, file_format=file_format, threads=threads):
                file.write(piece)
                seen(len(piece))
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
