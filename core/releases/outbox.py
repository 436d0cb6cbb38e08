"""A file that only grows and whose content is taken away piece by piece: how libraries that write files stream."""

import io


class Outbox(io.RawIOBase):
    """A write-only file whose content is taken away after each batch."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        """It is written to."""
        return True

    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]  # any buffer
        """Keep some bytes until they are taken."""
        part = bytes(data)
        self._parts.append(part)
        self._position += len(part)
        return len(part)

    def tell(self) -> int:
        """All bytes ever written: footers of Parquet and ZIP files hold offsets."""
        return self._position

    def take(self) -> bytes:
        """Take away what was written since."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken
