"""Parts of an upload at rest: verified and sealed on their way to disk, and read again in order, one chunk in memory.

A part is sealed into a scratch file while it arrives, and put into the object store only when its size and digest are
the announced ones. Any process can so take any part, and one that is killed leaves nothing that counts.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from core.storage.errors import DigestDiffers, PartSizeDiffers
from core.storage.objects import ObjectStore
from core.storage.sealing import SealedReader, SealedWriter
from core.storage.spool import spool_file

_PIECE_BYTES: Final = 1 << 20
FOLDER: Final = "uploads"


def new_part_key(upload_id: UUID, number: int) -> str:
    """A key for one attempt to send a part: two at once never write over each other."""
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
    """Take one part in and put it under a key, if it is what was announced; else nothing is kept.

    Args:
        pieces: The content as it arrives.
        store: Where it goes.
        key: Its own object key (``new_part_key``).
        data_key: The upload's.
        scratch_folder: Where it is sealed meanwhile.
        size_bytes: The size that this part must have.
        sha256: The digest that was announced.

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
    """The pieces, unchanged, as long as size and digest can be the announced ones.

    Raises:
        PartSizeDiffers: At the first piece too much, or at the end.
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
        ObjectMissing: One is not there.
        SealBroken: One does not open.
    """
    for key in keys:
        with SealedReader(store.open(key), key=data_key, context=_context(key)) as reader:
            while piece := reader.read(_PIECE_BYTES):
                yield piece


def _context(key: str) -> str:
    return f"upload-part:{key}"
