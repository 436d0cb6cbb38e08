"""A stream of bytes, taken in pieces of wanted lengths."""

from collections.abc import Iterator

from core.errors import UnderstudyError


class Records:
    """Takes exact lengths from pieces that are cut anywhere.

    Args:
        pieces: The content.
        short: What to raise when it ends too early, or goes on too long.
    """

    def __init__(self, pieces: Iterator[bytes], short: UnderstudyError) -> None:
        self._pieces = pieces
        self._short = short
        self._piece = memoryview(b"")

    def take(self, length: int) -> bytes:
        """The next bytes, all of them."""
        if len(self._piece) >= length:
            found, self._piece = bytes(self._piece[:length]), self._piece[length:]
            return found
        parts = bytearray(self._piece)
        self._piece = memoryview(b"")
        while len(parts) < length:
            piece = next(self._pieces, None)
            if piece is None:
                raise self._short
            needed = length - len(parts)
            parts += memoryview(piece)[:needed]
            self._piece = memoryview(piece)[needed:]
        return bytes(parts)

    def each(self, length: int, count: int) -> Iterator[bytes]:
        """So many records of one length, after which the content must end."""
        for _ in range(count):
            yield self.take(length)
        if len(self._piece) or any(self._pieces):
            raise self._short
