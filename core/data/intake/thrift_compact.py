"""The subset of Thrift's compact protocol that Parquet footers and page headers need, for reading and writing.

A ``Shape`` names the wanted fields of a structure and their kinds; everything else is skipped. All input is
checked here, in Python: the library's own reader aborts the process for some damaged footers.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

I32: Final = 5
I64: Final = 6
BINARY: Final = 8
LIST: Final = 9
STRUCT: Final = 12
_BYTE: Final = 3
_BOOLEANS: Final = frozenset({1, 2})
_NUMBERS: Final = frozenset({4, I32, I64})
_LISTS: Final = frozenset({LIST, 10})
# Booleans, which are part of the field header; a byte; a double.
_SIZES: Final = {1: 0, 2: 0, _BYTE: 1, 7: 8}
_DEPTH: Final = 16
_VARINT_BYTES: Final = 10
_LONG_LIST: Final = 0x0F
_RANGE: Final = {I32: 2**31, I64: 2**63}

Fields = dict[int, Any]


class Malformed(ValueError):
    """The bytes do not match the shape."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a field.

    Args:
        code: ``I32``, ``I64``, ``BINARY``, ``LIST`` or ``STRUCT``.
        shape: Of a structure; None keeps its raw bytes.
        items: Of a list.
    """

    code: int
    shape: "Mapping[int, Kind] | None" = field(default=None)
    items: "Kind | None" = field(default=None)


Shape = Mapping[int, Kind]


def read_struct(content: io.BytesIO, shape: Shape) -> Fields:
    """The wanted fields of the structure that begins here.

    Raises:
        EOFError: The bytes end too early.
        Malformed: A field is of another kind, or the nesting is too deep.
    """
    fields: Fields = {}
    for number, kind in _headers(content):
        wanted = shape.get(number)
        if wanted is None:
            _skip(content, kind, _DEPTH)
        elif kind != wanted.code:
            raise Malformed
        else:
            fields[number] = _read(content, wanted)
    return fields


def write_struct(fields: Fields, shape: Shape) -> bytes:
    """Encode a structure as ``read_struct`` reads it."""
    written, last = bytearray(), 0
    for number in sorted(fields):
        kind = shape[number]
        written.append((number - last) << 4 | kind.code)
        written += _written(fields[number], kind)
        last = number
    return bytes(written) + b"\x00"


def _read(content: io.BytesIO, kind: Kind) -> Any:  # noqa: ANN401 - what the kind says
    if kind.code in _RANGE:
        number = _zigzag(content)
        if not -_RANGE[kind.code] <= number < _RANGE[kind.code]:
            raise Malformed
        return number
    if kind.code == BINARY:
        return _bytes(content, _varint(content))
    if kind.code == LIST:
        assert kind.items is not None
        count, code = _list_head(content)
        if count and code != kind.items.code:
            raise Malformed
        return [_read(content, kind.items) for _ in range(count)]
    if kind.shape is not None:
        return read_struct(content, kind.shape)
    start = content.tell()
    _skip(content, STRUCT, _DEPTH)
    return content.getvalue()[start : content.tell()]


def _written(value: Any, kind: Kind) -> bytes:  # noqa: ANN401 - what the kind says
    if kind.code in _RANGE:
        return _as_varint(value * 2 if value >= 0 else -value * 2 - 1)
    if kind.code == BINARY:
        return _as_varint(len(value)) + bytes(value)
    if kind.code == LIST:
        assert kind.items is not None
        head = bytes([_LONG_LIST << 4 | kind.items.code]) + _as_varint(len(value))
        return head + b"".join(_written(item, kind.items) for item in value)
    return bytes(value) if kind.shape is None else write_struct(value, kind.shape)


def _headers(content: io.BytesIO) -> Iterator[tuple[int, int]]:
    last = 0
    while head := _byte(content):
        last = last + (head >> 4) if head >> 4 else _zigzag(content)
        yield last, head & 0x0F


def _skip(content: io.BytesIO, kind: int, depth: int) -> None:
    if depth == 0:
        raise Malformed
    if kind in _SIZES:
        _bytes(content, _SIZES[kind])
    elif kind in _NUMBERS:
        _varint(content)
    elif kind == BINARY:
        _bytes(content, _varint(content))
    elif kind in _LISTS:
        count, code = _list_head(content)
        for _ in range(count):
            _skip(content, _BYTE if code in _BOOLEANS else code, depth - 1)
    elif kind == STRUCT:
        for _, inner in _headers(content):
            _skip(content, inner, depth - 1)
    else:
        raise Malformed


def _list_head(content: io.BytesIO) -> tuple[int, int]:
    head = _byte(content)
    return (head >> 4 if head >> 4 != _LONG_LIST else _varint(content)), head & 0x0F


def _bytes(content: io.BytesIO, count: int) -> bytes:
    found = content.read(count)
    if len(found) != count:
        raise EOFError
    return found


def _byte(content: io.BytesIO) -> int:
    return _bytes(content, 1)[0]


def _varint(content: io.BytesIO) -> int:
    number = 0
    for place in range(_VARINT_BYTES):
        byte = _byte(content)
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:  # noqa: PLR2004 - the protocol's mark of the last byte
            return number
    raise Malformed


def _zigzag(content: io.BytesIO) -> int:
    number = _varint(content)
    return (number >> 1) ^ -(number & 1)


def _as_varint(number: int) -> bytes:
    written = bytearray()
    while number >= 0x80:  # noqa: PLR2004 - the protocol's mark of the last byte
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])
