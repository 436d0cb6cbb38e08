"""Fake rows and images as the files that a service would send."""

import csv
import io
import json
import secrets
import zipfile
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from understudy.documents import Json
from understudy.dummies.values import FakeColumn

MOST_ROWS: Final = 1_000_000
"""All fake rows of a file are in memory at once."""
MOST_PIXELS: Final = 2**28
MOST_SHORT_CODES: Final = 32767
"""Words of a column up to which a service writes 16-bit codes."""
Rows = list[dict[str, Any]]


def _csv(columns: tuple[FakeColumn, ...], rows: Rows) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows([_plain(row[column.name], column.format) for column in columns] for row in rows)
    return text.getvalue().encode()


def _plain(value: object, written: str | None) -> object:
    """The value as a service writes it into CSV."""
    if written is not None and isinstance(value, date):
        return value.strftime(written)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(" ") if hasattr(value, "hour") else value  # type: ignore[attr-defined]  # of a datetime


def _jsonl(_columns: tuple[FakeColumn, ...], rows: Rows) -> bytes:
    lines = (json.dumps(row, ensure_ascii=False, default=date.isoformat) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _arrow(columns: tuple[FakeColumn, ...], rows: Rows) -> bytes:
    import pyarrow as pa

    table, sink = _table(columns, rows), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _parquet(columns: tuple[FakeColumn, ...], rows: Rows) -> bytes:
    import pyarrow.parquet

    sink = io.BytesIO()
    pyarrow.parquet.write_table(_table(columns, rows), sink)
    return sink.getvalue()


def _table(columns: tuple[FakeColumn, ...], rows: Rows) -> Any:  # noqa: ANN401 - an Arrow table
    import pyarrow as pa

    kinds = {
        "integer": pa.int64(),
        "real": pa.float64(),
        "boolean": pa.bool_(),
        "text": pa.string(),
        "date": pa.date32(),
        "datetime": pa.timestamp("s"),
    }
    arrays = {}
    for column in columns:
        values = pa.array([row[column.name] for row in rows], kinds[column.kind])
        if column.kind == "text":
            codes = pa.array(
                [None if word is None else column.words.index(word) for word in values.to_pylist()]
            )
            width = pa.int16() if len(column.words) <= MOST_SHORT_CODES else pa.int32()
            values = pa.DictionaryArray.from_arrays(codes.cast(width), list(column.words))
        arrays[column.name] = values
    return pa.table(arrays)


WRITERS: Final[Mapping[str, Callable[[tuple[FakeColumn, ...], Rows], bytes]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "jsonl": _jsonl,
    "arrow": _arrow,
}


def fake_images(domain: Json, images: int, label: str | None) -> bytes:
    """Draw images of noise and labels by chance, or all with one label, as arrays (NPZ)."""
    words = [str(word) for word in domain["labels"]]
    shape = (images, int(domain["height"]), int(domain["width"]), int(domain["channels"]))
    codes = [
        words.index(label) if label is not None else secrets.randbelow(max(1, len(words)))
        for _ in range(images)
    ]
    width = max([len(word) for word in words] or [1])
    names = b"".join(word.ljust(width, "\0").encode("utf-32-le") for word in words)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("label_names.npy", _npy(f"<U{width}", (len(words),), names))
        labels = b"".join(code.to_bytes(2, "little") for code in codes)
        archive.writestr("labels.npy", _npy("<i2", shape[:1], labels))
        pixels = secrets.token_bytes(shape[0] * shape[1] * shape[2] * shape[3])
        archive.writestr("images.npy", _npy("|u1", shape, pixels))
    return target.getvalue()


def _npy(kind: str, shape: tuple[int, ...], content: bytes) -> bytes:
    """An array file of version 1.0: a header of text, padded to a multiple of 64 bytes, then the numbers."""
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    padded = header + " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode("latin-1") + content
