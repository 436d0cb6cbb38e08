"""Open an upload of images of any kind."""

import io
from collections.abc import Generator
from typing import BinaryIO, Final

from core.domain.images import ImageDomain
from core.storage.clean_rows import CleanBlock
from core.storage.errors import EmptyUpload
from core.storage.image_archive import ImageArchive
from core.storage.image_arrays import idx_blocks, is_idx, npz_blocks
from core.storage.sealing import SealedReader
from core.storage.sniffing import NPZ
from core.storage.unpacking import IntakeLimits
from core.storage.zip_directory import read_directory

_BUFFER_BYTES: Final = 1 << 16


def image_upload(
    spool: SealedReader, *, kind: str, domain: ImageDomain, limits: IntakeLimits
) -> tuple[str, Generator[CleanBlock]]:
    """Open an upload of images.

    Args:
    kind: ``application/zip`` or ``application/x-npz``.

    Returns:
    What row numbers count (``line``, ``entry`` or ``row``), and the rows.

    Raises:
        UnderstudyError: The file as a whole is invalid.
    """
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
