"""Split a CSV byte stream into blocks of whole records, tracking the line of each record.

Records follow RFC 4180: a quotation mark opens a field only at its beginning and closes it only before a delimiter or
a line end; inside it is doubled. Line feeds inside quotes belong to the field. Anything else is refused with a line
number rather than guessed, because a wrong guess shifts every later field. Everything here is vectorised: only blocks
that hold a quotation mark cost more than a byte scan.
"""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.data.errors import BareCarriageReturn, DamagedUpload, NotUtf8, NulByte, RecordTooLong, StrayQuote
from core.plan.domain.table import UTF16

BLOCK_BYTES: Final = 4 << 20
_LF: Final = 10
_CR: Final = 13
_LONGEST_CHARACTER: Final = 4
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Whole records.

    Attributes:
        data: Their bytes, ending with a line feed.
        first_line: Line of the file on which the block begins; the first is 1.
        quoted: Whether a quotation mark occurs.
        open_ended: Whether the last record has no line end in the file.
    """

    data: bytes
    first_line: int
    quoted: bool
    open_ended: bool = False


def blocks_of(pieces: Iterable[bytes], *, quote: str | None, max_record_bytes: int) -> Iterator[Block]:
    """Cut a stream into blocks of about 4 MiB of whole records.

    Raises:
        RecordTooLong: a record exceeds the limit.
        StrayQuote: a quoted field is never closed.
        DamagedUpload: the stream ends inside a quoted field or a character.
        NotUtf8: the stream begins with the byte order mark of another encoding.
    """
    mark = -1 if quote is None else ord(quote)
    pending = bytearray()
    line = 1
    wanted = min(BLOCK_BYTES, 1 << 16)  # a small first block: the header is wanted soon
    first = True
    for piece in pieces:
        pending += piece
        if len(pending) < wanted:
            continue
        if first:
            first = False
            _drop_mark(pending)
        end = _last_record_end(pending, mark)
        if len(pending) - end > max_record_bytes:
            raise _too_long(line + pending.count(b"\n", 0, end), max_record_bytes)
        if end:
            block = _block(bytes(memoryview(pending)[:end]), line, mark)
            line += block.data.count(b"\n")
            del pending[:end]
            yield block
        wanted = len(pending) + BLOCK_BYTES if not end else BLOCK_BYTES
    if first:
        _drop_mark(pending)
    yield from _final(pending, line, mark, max_record_bytes)


def _final(pending: bytearray, line: int, mark: int, max_record_bytes: int) -> Iterator[Block]:
    if not pending:
        return
    open_ended = pending[-1] != _LF
    if open_ended:
        if _ends_inside_character(pending):
            raise cut_off(line + pending.count(b"\n"), "character")
        pending += b"\n"
    end = _last_record_end(pending, mark)
    if end < len(pending):
        if len(pending) - end > max_record_bytes:
            raise _too_long(line + pending.count(b"\n", 0, end), max_record_bytes)
        if open_ended:
            raise cut_off(line + pending.count(b"\n", 0, end), "quoted field")
        raise _stray(line + pending.count(b"\n", 0, end), "A quoted field is never closed.")
    yield replace(_block(bytes(pending), line, mark), open_ended=open_ended)


def cut_off(line: int, inside: str) -> DamagedUpload:
    """Return the error for a file that ends inside its last record, which begins on `line`; `inside` names the place, such as a quoted field."""
    closed = " If it is, a quotation mark is out of place." if inside == "quoted field" else ""
    return DamagedUpload(
        f"The file ends inside a {inside}: it looks cut off.", line=line,
        remedy=f"Check that the file is whole, and send it again; nothing was kept.{closed} A last line that is no record, such as a "
        "footer, has to go.",
    )  # fmt: skip


def _ends_inside_character(pending: bytearray) -> bool:
    """Whether the bytes end in a character of UTF-8 of which some are missing."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
    decoder.decode(bytes(pending[-_LONGEST_CHARACTER:]))
    return bool(decoder.getstate()[0])


def _drop_mark(pending: bytearray) -> None:
    if pending.startswith(_UTF8_MARK):
        del pending[:3]
    elif pending.startswith(_WIDE_MARKS):
        raise NotUtf8(
            "The file begins with the byte order mark of UTF-16.", remedy=_another_encoding(UTF16), line=1
        )


def _another_encoding(likely: str) -> str:
    return (
        f'Declare "encoding": "{likely}" (or another one, as the file is written) under "csv" of the domain, or draft the domain anew with: '
        f"understudy domain draft. Or save the file as UTF-8, for example with: iconv -f {likely.upper()} -t UTF-8 OLD.csv > NEW.csv"
    )


def _block(data: bytes, line: int, mark: int) -> Block:
    return Block(data=data, first_line=line, quoted=mark >= 0 and mark in data)


def _last_record_end(pending: bytearray, mark: int) -> int:
    """The position after the last unquoted line feed; 0 if there is none."""
    if mark < 0 or mark not in pending:
        return pending.rfind(b"\n") + 1
    ends = record_ends(np.frombuffer(pending, dtype=np.uint8), mark)
    return int(ends[-1]) + 1 if len(ends) else 0


def record_ends(data: NDArray[np.uint8], mark: int) -> Positions:
    """Positions of the line feeds outside quotes of data that begins with a record."""
    feeds = np.flatnonzero(data == _LF)
    if mark < 0:
        return feeds
    quotes = np.flatnonzero(data == mark)
    outside: Positions = feeds[np.searchsorted(quotes, feeds) % 2 == 0]
    return outside


def split_first(block: Block, quote: str | None) -> tuple[bytes, Block]:
    """The first record without its line end, and the block of the others (possibly without bytes)."""
    mark = ord(quote) if block.quoted and quote is not None else -1
    end = int(record_ends(np.frombuffer(block.data, dtype=np.uint8), mark)[0]) + 1
    head, rest = block.data[:end], block.data[end:]
    others = replace(block, data=rest, first_line=block.first_line + head.count(b"\n"))
    return head[:-1].removesuffix(b"\r"), others


def check_text(block: Block, *, quote: str | None, delimiter: str) -> None:
    """Refuse a block whose bytes are not clean RFC 4180 text in UTF-8.

    Raises:
        NulByte: a NUL byte.
        NotUtf8: bytes that are not UTF-8.
        BareCarriageReturn: a carriage return outside quotes without a line feed.
        StrayQuote: a quotation mark out of place.
    """
    data = block.data
    if (position := data.find(b"\0")) >= 0:
        raise NulByte(
            "The text holds a NUL byte.", remedy="Save the file as plain UTF-8 text (it may be UTF-16 now).",
            line=_line_at(block, position),
        )  # fmt: skip
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise NotUtf8(
                "The text is not UTF-8.", line=_line_at(block, error.start),
                remedy=_another_encoding("windows-1252"),
            ) from None  # fmt: skip
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        _check_returns(block, quote)
    if block.quoted and quote is not None:
        _check_quotes(block, ord(quote), ord(delimiter))


def _check_returns(block: Block, quote: str | None) -> None:
    values = np.frombuffer(block.data, dtype=np.uint8)
    returns = np.flatnonzero((values[:-1] == _CR) & (values[1:] != _LF))
    if block.quoted and quote is not None:
        quotes = np.flatnonzero(values == ord(quote))
        returns = returns[np.searchsorted(quotes, returns) % 2 == 0]
    if len(returns):
        raise BareCarriageReturn(
            "A carriage return stands alone.", remedy="Save the file with line ends LF or CR LF.",
            line=_line_at(block, int(returns[0])),
        )  # fmt: skip


def _check_quotes(block: Block, mark: int, delimiter: int) -> None:
    values = np.frombuffer(block.data, dtype=np.uint8)
    quotes = np.flatnonzero(values == mark)
    opening, closing = quotes[0::2], quotes[1::2]
    before = values[opening - 1]  # the block ends with a line feed, so index -1 reads as a record end
    after = values[closing + 1]
    good_before = (before == delimiter) | (before == _LF) | ((before == mark) & (opening > 0))
    good_after = (after == delimiter) | (after == _LF) | (after == _CR) | (after == mark)
    bad = np.append(opening[~good_before], closing[~good_after])
    if len(bad):
        raise _stray(
            _line_at(block, int(bad.min())), "A quotation mark stands inside a field that is not quoted."
        )


def _line_at(block: Block, position: int) -> int:
    return block.first_line + block.data.count(b"\n", 0, position)


def record_lines(block: Block, quote: str | None) -> Positions:
    """The line on which each record begins, shape (records,); computed only when needed."""
    values = np.frombuffer(block.data, dtype=np.uint8)
    feeds = np.flatnonzero(values == _LF)
    if not block.quoted or quote is None:
        return block.first_line + np.arange(len(feeds))
    ends = record_ends(values, ord(quote))
    starts = np.append(0, ends[:-1] + 1)
    return block.first_line + np.searchsorted(feeds, starts)


def blank_records(block: Block, quote: str | None) -> Positions:
    """Numbers of the records that are empty lines."""
    data = block.data
    empty = b"\n\n" in data or data.startswith((b"\n", b"\r\n")) or (b"\r" in data and b"\n\r\n" in data)
    if not empty:
        return np.zeros(0, dtype=np.int64)
    values = np.frombuffer(data, dtype=np.uint8)
    ends = record_ends(values, ord(quote) if block.quoted and quote is not None else -1)
    lengths = np.diff(ends, prepend=-1) - 1
    carriage = (lengths == 1) & (values[ends - 1] == _CR)
    return np.flatnonzero((lengths == 0) | carriage)


def _stray(line: int, detail: str) -> StrayQuote:
    return StrayQuote(
        detail, line=line,
        remedy="Quote the whole field and double the marks inside it, or declare csv.quote as null if the file "
        "never quotes.",
    )  # fmt: skip


def _too_long(line: int, limit: int) -> RecordTooLong:
    return RecordTooLong(
        f"The record that begins on this line has more than {limit} bytes.", line=line, limit_bytes=limit,
        remedy="Most often a quotation mark is not closed; declare csv.quote as null if the file never quotes.",
    )  # fmt: skip
