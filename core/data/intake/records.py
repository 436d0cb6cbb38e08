"""Fixed-length reads from a stream of byte chunks."""

from collections.abc import Iterator

from core.errors import UnderstudyError


class Records:
    """Reads exact lengths from chunks of arbitrary size.

    Args:
        short: The error to raise if the content is too short or too long.
    """

    def __init__(self, pieces: Iterator[bytes], short: UnderstudyError) -> None:
        self._pieces = pieces
        self._short = short
        self._piece = memoryview(b"")

    def take(self, length: int) -> bytes:
        """The next `length` bytes."""
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
        """`count` records of `length` bytes, after which the content must end."""
        for _ in range(count):
            yield self.take(length)
        if len(self._piece) or any(self._pieces):
            raise self._short
