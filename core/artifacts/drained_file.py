"""An append-only file whose content is drained in pieces: streams the output of libraries that write files."""

import io


class DrainedFile(io.RawIOBase):
    """A write-only file that is drained after each batch."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]  # any buffer
        """Buffer bytes until they are drained."""
        part = bytes(data)
        self._parts.append(part)
        self._position += len(part)
        return len(part)

    def tell(self) -> int:
        """All bytes ever written: footers of Parquet and ZIP files hold offsets."""
        return self._position

    def take(self) -> bytes:
        """Drain what was written since."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken
