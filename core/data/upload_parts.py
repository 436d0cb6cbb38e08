"""Stored parts of an upload: verified and sealed before they reach the disk, and read back in order, one chunk at a time.

A part is sealed into a scratch file while it arrives, and put into the object store only if its size and
digest match the announced ones. Any process can therefore accept any part, and a killed process leaves
nothing valid behind.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from core.data.errors import DigestDiffers, PartSizeDiffers
from core.data.intake.spool import spool_file
from core.data.objects import ObjectStore
from core.data.sealing import SealedReader, SealedWriter

_PIECE_BYTES: Final = 1 << 20
FOLDER: Final = "uploads"


def new_part_key(upload_id: UUID, number: int) -> str:
    """An object key for one attempt to send a part: concurrent attempts never overwrite each other."""
    return f"{FOLDER}/{upload_id}/part-{number}-{uuid4().hex}.sealed"


def seal_part(
    pieces: Iterable[bytes],
    *,
    store: ObjectStore,
    key: str,
    data_key: bytes,
    scratch_folder: Path,
    size_bytes: int,
    sha256: bytes,
) -> None:
    """Store one part if it matches the announced size and digest; otherwise nothing is stored.

    Args:
        key: Its own object key (``new_part_key``).
        sha256: The announced digest.

    Raises:
        PartSizeDiffers: It has another size.
        DigestDiffers: It has another digest.
    """
    with spool_file(scratch_folder) as (file, path):
        with SealedWriter(file, key=data_key, context=_context(key)) as sink:
            for piece in checked(pieces, size_bytes=size_bytes, sha256=sha256):
                sink.write(piece)
        store.put_file(key, path)


def checked(pieces: Iterable[bytes], *, size_bytes: int, sha256: bytes) -> Iterator[bytes]:
    """The chunks, unchanged, checking size and digest.

    Raises:
        PartSizeDiffers: At the first excess byte, or at the end.
        DigestDiffers: At the end.
    """
    digest, taken = hashlib.sha256(), 0
    for piece in pieces:
        taken += len(piece)
        if taken > size_bytes:
            raise PartSizeDiffers(size_bytes)
        digest.update(piece)
        yield piece
    if taken != size_bytes:
        raise PartSizeDiffers(size_bytes)
    if digest.digest() != sha256:
        raise DigestDiffers


def read_parts(store: ObjectStore, keys: Iterable[str], data_key: bytes) -> Iterator[bytes]:
    """The content of parts in the order of their keys.

    Raises:
        ObjectMissing: A part is missing.
        SealBroken: A part does not open.
    """
    for key in keys:
        with SealedReader(store.open(key), key=data_key, context=_context(key)) as reader:
            while piece := reader.read(_PIECE_BYTES):
                yield piece


def _context(key: str) -> str:
    return f"upload-part:{key}"
