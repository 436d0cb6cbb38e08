"""Where stored bytes live: a local folder, an S3 bucket, or memory (the twin for tests), chosen by URL.

``file:///folder`` · ``memory://`` · ``s3://bucket/prefix?endpoint=http://host:9000&region=eu-1`` (the query is
optional; credentials come from the usual AWS environment variables and never stand in a URL).

Everything personal in a store is sealed before it gets here. Puts are atomic: an object is there whole or not at all.
"""

import io
from pathlib import Path
from typing import BinaryIO, Final, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import obstore
from obstore.store import LocalStore, MemoryStore, S3Store
from typing_extensions import Buffer

from core.storage.errors import ObjectMissing

_S3_KEYS: Final = {"endpoint", "region", "virtual_hosted_style_request"}
_READ_AHEAD_BYTES: Final = 1 << 20


class ObjectStore:
    """Bytes under keys such as ``datasets/<id>/rows.sealed``; made by ``open_store``."""

    def __init__(self, backend: LocalStore | MemoryStore | S3Store) -> None:
        self._backend = backend

    def put_bytes(self, key: str, data: bytes) -> None:
        """Store bytes, replacing what was there."""
        obstore.put(self._backend, key, data)

    def put_file(self, key: str, path: Path) -> None:
        """Store a file's content, replacing what was there; streamed, so any size."""
        obstore.put(self._backend, key, path)

    def get_bytes(self, key: str) -> bytes:
        """The whole object.

        Raises:
            ObjectMissing: there is no such object.
        """
        try:
            return bytes(obstore.get(self._backend, key).bytes())
        except FileNotFoundError:
            raise ObjectMissing from None

    def open(self, key: str) -> BinaryIO:
        """The object as a seekable binary file.

        Raises:
            ObjectMissing: there is no such object.
        """
        try:
            return cast("BinaryIO", _ObjectReader(self._backend, key))
        except FileNotFoundError:
            raise ObjectMissing from None

    def exists(self, key: str) -> bool:
        """Whether there is such an object."""
        try:
            obstore.head(self._backend, key)
        except FileNotFoundError:
            return False
        return True

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens if there is none."""
        try:
            obstore.delete(self._backend, key)
        except FileNotFoundError:
            return


class _ObjectReader(io.RawIOBase):
    def __init__(self, backend: LocalStore | MemoryStore | S3Store, key: str) -> None:
        self._reader = obstore.open_reader(backend, key, buffer_size=_READ_AHEAD_BYTES)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        piece = memoryview(self._reader.read(len(view)))
        view[: len(piece)] = piece
        return len(piece)


def open_store(url: str) -> ObjectStore:
    """The store of a URL (see the module).

    Raises:
        ValueError: the scheme or a query key is unknown.
    """
    parts = urlsplit(url)
    if parts.scheme == "memory":
        return ObjectStore(MemoryStore())
    if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
        return ObjectStore(LocalStore(unquote(parts.path), mkdir=True))
    if parts.scheme == "s3":
        config = dict(parse_qsl(parts.query))
        if not set(config) <= _S3_KEYS:
            message = f"an s3 URL takes only {', '.join(sorted(_S3_KEYS))}"
            raise ValueError(message)
        plain_http = config.get("endpoint", "").startswith("http://")
        return ObjectStore(
            S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                config=config,
                client_options={"allow_http": plain_http},
            )
        )
    message = "a storage URL begins with file:///, s3:// or memory://"
    raise ValueError(message)
