"""Envelope encryption: data keys wrapped under the master key, streams sealed in chunks.

A sealed stream is a header (magic, chunk size, 32-byte salt) and AES-256-GCM chunks in the STREAM construction
(Hoang, Reyhanitabar, Rogaway, Vizar 2015): each stream has its own key, HKDF-SHA256(data key, salt); the nonce of a
chunk is its 11-byte counter and a byte that says whether it is the last; the header and the caller's *context* (what
the bytes are and where they belong) are associated data. A chunk that is changed, dropped, repeated,
reordered or taken from another stream, a truncated stream, a wrong key and a wrong context all fail with
``SealBroken``. All chunks but the last have equal size, so a reader can seek. Chunks are far below the 2 GiB
that the cryptography library accepts in one call.
"""

import io
import os
import struct
from typing import BinaryIO, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from typing_extensions import Buffer

from core.data.errors import SealBroken

KEY_BYTES: Final = 32
CHUNK_BYTES: Final = 1 << 20
_LARGEST_CHUNK: Final = 1 << 26
_MAGIC: Final = b"USEAL\x00\x00\x01"
_SALT_BYTES: Final = 32
_TAG_BYTES: Final = 16
_HEADER: Final = struct.Struct(f">8sI{_SALT_BYTES}s")
_ZERO_NONCE: Final = bytes(12)


def new_data_key() -> bytes:
    """A fresh 256-bit key from the operating system."""
    return os.urandom(KEY_BYTES)


def _cipher(key: bytes, salt: bytes, purpose: str) -> AESGCM:
    if len(key) != KEY_BYTES:
        message = "a key has 32 bytes"
        raise ValueError(message)
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt, f"understudy/{purpose}/1".encode()).derive(key))


def _seal_once(key: bytes, plaintext: bytes, context: str, purpose: str) -> bytes:
    # A key derived from a fresh 256-bit salt seals exactly one message, so the nonce may be constant.
    salt = os.urandom(_SALT_BYTES)
    return salt + _cipher(key, salt, purpose).encrypt(_ZERO_NONCE, plaintext, context.encode())


def _open_once(key: bytes, sealed: bytes, context: str, purpose: str) -> bytes:
    try:
        cipher = _cipher(key, sealed[:_SALT_BYTES], purpose)
        return cipher.decrypt(_ZERO_NONCE, sealed[_SALT_BYTES:], context.encode())
    except InvalidTag:
        raise SealBroken from None


def wrap(master_key: bytes, data_key: bytes, *, context: str) -> bytes:
    """Seal a data key under the master key, bound to its purpose (for example ``dataset:<id>``)."""
    return _seal_once(master_key, data_key, context, "wrapped-key")


def unwrap(master_key: bytes, wrapped: bytes, *, context: str) -> bytes:
    """Open the data key that ``wrap`` sealed.

    Raises:
        SealBroken: another master key or context, or changed bytes.
    """
    return _open_once(master_key, wrapped, context, "wrapped-key")


def seal_bytes(key: bytes, plaintext: bytes, *, context: str) -> bytes:
    """Seal a small blob (a checkpoint, a randomness key); below 2 GiB."""
    return _seal_once(key, plaintext, context, "sealed-blob")


def open_bytes(key: bytes, sealed: bytes, *, context: str) -> bytes:
    """Open the blob that ``seal_bytes`` sealed.

    Raises:
        SealBroken: another key or context, or changed bytes.
    """
    return _open_once(key, sealed, context, "sealed-blob")


class SealedWriter(io.RawIOBase):
    """A binary file that seals what is written to it.

    ``close`` writes the last chunk; a stream without it does not open, so an interrupted writer leaves
    nothing that could pass for complete. Leaving a ``with`` block by an exception therefore does not write
    it.

    Args:
        raw: Receives the sealed bytes; stays open.
        key: 256-bit data key.
        context: Identifies the bytes and their location; needed again to open them.
        chunk_bytes: Plaintext bytes per chunk.
    """

    def __init__(self, raw: BinaryIO, *, key: bytes, context: str, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._pending = bytearray()
        if not 1 <= chunk_bytes <= _LARGEST_CHUNK:
            message = f"chunk_bytes must be from 1 to {_LARGEST_CHUNK}"
            raise ValueError(message)
        self._raw = raw
        header = _HEADER.pack(_MAGIC, chunk_bytes, os.urandom(_SALT_BYTES))
        self._cipher = _cipher(key, header[-_SALT_BYTES:], "sealed-stream")
        self._associated = header + context.encode()
        self._chunk_bytes = chunk_bytes
        self._chunks = 0
        self._written = 0
        raw.write(header)

    def writable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Plaintext bytes written."""
        return self._written

    def write(self, data: Buffer, /) -> int:
        """Seal more bytes.

        Returns:
            The number of bytes taken: all of them.
        """
        if self.closed:
            message = "write to a closed file"
            raise ValueError(message)
        view = memoryview(data).cast("B")
        self._written += len(view)
        self._pending += view
        # A full chunk is held back, because it may be the last.
        full = max(0, (len(self._pending) - 1) // self._chunk_bytes)
        with memoryview(self._pending) as pending:
            for index in range(full):
                self._put(pending[index * self._chunk_bytes : (index + 1) * self._chunk_bytes], last=False)
        del self._pending[: full * self._chunk_bytes]
        return len(view)

    def _put(self, chunk: bytes | memoryview, *, last: bool) -> None:
        nonce = self._chunks.to_bytes(11, "big") + bytes([last])
        self._raw.write(self._cipher.encrypt(nonce, chunk, self._associated))
        self._chunks += 1

    def __exit__(self, kind: object, *details: object) -> None:
        if kind is not None:
            self.abandon()
        self.close()

    def abandon(self) -> None:
        """Close without the last chunk: the stream does not open."""
        if not self.closed:
            self._pending.clear()
            super().close()

    def __del__(self) -> None:
        # The base class closes on garbage collection; an unclosed writer must not look complete.
        self.abandon()

    def close(self) -> None:
        """Seal the last chunk and flush; the raw file stays open."""
        if not self.closed:
            self._put(bytes(self._pending), last=True)
            self._raw.flush()
            self._pending.clear()
            super().close()


class SealedReader(io.RawIOBase):
    """A sealed stream, opened: reads from the start, and seeks where the raw file does.

    Args:
        raw: The sealed bytes, seekable, positioned anywhere; closed with the reader.
        context: As given to the writer.

    Raises:
        SealBroken: not a sealed stream; later reads raise it for a chunk that does not open.
    """

    def __init__(self, raw: BinaryIO, *, key: bytes, context: str) -> None:
        self._raw = raw
        end = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        header = raw.read(_HEADER.size)
        if len(header) != _HEADER.size:
            raise SealBroken
        magic, chunk_bytes, salt = _HEADER.unpack(header)
        self._chunk_bytes: int = max(1, chunk_bytes)
        body = end - _HEADER.size
        stride = self._chunk_bytes + _TAG_BYTES
        self._chunks: int = max(1, -(-body // stride))
        if magic != _MAGIC or not 1 <= chunk_bytes <= _LARGEST_CHUNK or body < self._chunks * _TAG_BYTES:
            raise SealBroken
        self._size: int = body - self._chunks * _TAG_BYTES
        self._cipher = _cipher(key, salt, "sealed-stream")
        self._associated = header + context.encode()
        self._position = 0
        self._open_index = -1
        self._open_chunk = b""
        self._chunk(self._chunks - 1)  # the last chunk proves that the stream was not cut off

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Plaintext position."""
        return self._position

    @property
    def size(self) -> int:
        """Plaintext bytes in all."""
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to a plaintext position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill a buffer, across chunks, as far as the stream goes.

        Returns:
            The number of bytes read, 0 at the end.
        """
        view = memoryview(buffer).cast("B")
        wanted = max(0, min(len(view), self._size - self._position))
        done = 0
        while done < wanted:
            index, start = divmod(self._position, self._chunk_bytes)
            piece = memoryview(self._chunk(index))[start : start + wanted - done]
            view[done : done + len(piece)] = piece
            done += len(piece)
            self._position += len(piece)
        return done

    def _chunk(self, index: int) -> bytes:
        if index == self._open_index:
            return self._open_chunk
        self._raw.seek(_HEADER.size + index * (self._chunk_bytes + _TAG_BYTES))
        sealed = self._raw.read(self._chunk_bytes + _TAG_BYTES)
        nonce = index.to_bytes(11, "big") + bytes([index == self._chunks - 1])
        try:
            self._open_chunk = self._cipher.decrypt(nonce, sealed, self._associated)
        except InvalidTag:
            raise SealBroken from None
        self._open_index = index
        return self._open_chunk

    def close(self) -> None:
        """Close the raw file too."""
        if not self.closed:
            self._raw.close()
            super().close()
