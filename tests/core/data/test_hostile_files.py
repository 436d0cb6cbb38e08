"""Files that are made to cost more than they are: nested, dense, lying or endless."""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.data.errors import DamagedUpload, DecompressionBomb
from core.data.intake.intake import GZIP, PARQUET, receive
from core.data.intake.parquet_footer import Footer
from core.data.intake.unpacking import IntakeLimits, gunzip
from core.errors import UnderstudyError
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import table

DOMAIN = table(
    {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99},
    {"name": "work", "kind": "categorical", "categories": ["P", "Q"], "other": True},
)


def parquet(columns: dict[str, object], **options: object) -> bytes:
    target = io.BytesIO()
    pq.write_table(pa.table(columns), target, **options)
    return target.getvalue()


def refused(
    data: bytes, folder: Path, kind: str = PARQUET, domain: TableDomain = DOMAIN, **limits: int
) -> UnderstudyError:
    with pytest.raises(UnderstudyError) as caught:
        receive(
            io.BytesIO(data), content_type=kind, domain=domain, sink=io.BytesIO(), scratch_folder=folder,
            limits=IntakeLimits(**limits),
        )  # fmt: skip
    return caught.value


ROWS = {"age": [index % 100 for index in range(5000)], "work": [f"text {index}" for index in range(5000)]}


@pytest.mark.parametrize(
    "limits",
    [
        {"max_page_bytes": 10_000},
        {"max_open_page_bytes": 50_000},
        {"max_column_chunk_bytes": 50_000},
        {"max_unpacked_bytes": 50_000},
        {"max_footer_bytes": 100},
    ],
    ids=lambda limits: next(iter(limits)),
)
def test_what_a_parquet_file_would_take_is_bounded(tmp_path: Path, limits: dict[str, int]) -> None:
    data = parquet(ROWS, use_dictionary=False)
    assert refused(data, tmp_path, **limits).code == "decompression-bomb"


def test_a_large_dictionary_is_refused(tmp_path: Path) -> None:
    data = parquet(ROWS, dictionary_pagesize_limit=1 << 20)
    assert refused(data, tmp_path, max_dictionary_bytes=10_000).code == "decompression-bomb"


def test_a_footer_is_not_believed_about_its_pages(tmp_path: Path) -> None:
    """The page's own header says how much is unpacked; here it says more than the footer does."""
    data = bytearray(parquet({"age": [1] * 20_000, "work": ["P"] * 20_000}, use_dictionary=False))
    honest = Footer.read(io.BytesIO(data), len(data), IntakeLimits())
    start = honest.groups[0][0].start
    assert data[start : start + 3] == b"\x15\x00\x15"
    assert all(byte & 0x80 for byte in data[start + 3 : start + 5])
    data[start + 3 : start + 6] = b"\xfe\xff\x7f"  # a mebibyte, in as many bytes as the honest size took
    assert refused(bytes(data), tmp_path, max_page_bytes=1_000_000).code == "decompression-bomb"


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_encodings_that_unpack_without_bounds_are_refused(tmp_path: Path, encoding: str) -> None:
    data = parquet(ROWS, use_dictionary=False, column_encoding={"work": encoding})
    assert refused(data, tmp_path).code == "unsupported-upload"


def test_a_value_repeated_without_end_is_refused(tmp_path: Path) -> None:
    rows = 40_000_000
    target = io.BytesIO()
    with pq.ParquetWriter(target, pa.schema({"age": pa.int8(), "work": pa.string()})) as writer:
        ones, texts = pa.array([1] * 10**6, pa.int8()), pa.array(["P"] * 10**6)
        for _ in range(rows // 10**6):
            writer.write_table(pa.table({"age": ones, "work": texts}))
    data = target.getvalue()
    assert len(data) < 400_000
    assert refused(data, tmp_path).code == "decompression-bomb"


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": 1}, {"a": 2}]], ids=["lists", "structures"])
def test_nested_columns_are_refused(tmp_path: Path, values: list[object]) -> None:
    assert refused(parquet({"age": values, "work": ["P", "Q"]}), tmp_path).code == "domain-mismatch"


def test_a_footer_of_ours_has_nothing_that_is_not_needed() -> None:
    data = parquet(ROWS, write_page_index=True)
    footer = Footer.read(io.BytesIO(data), len(data), IntakeLimits())
    assert footer.rows == 5000
    assert b"ARROW:schema" in data
    assert b"ARROW:schema" not in footer.ours
    opened = pq.ParquetFile(io.BytesIO(data[: footer.starts_at] + footer.ours))
    assert opened.read().to_pydict() == ROWS
    assert opened.metadata.row_group(0).column(0).statistics is None


# gzip


@pytest.mark.parametrize(
    ("tail", "detail"),
    [(b"garbage", "corrupted"), (b"\x00" * 512, "corrupted"), (b"\x1f\x8b", "cut off")],
    ids=["garbage", "zeros", "half a member"],
)
def test_what_follows_the_last_member_is_refused(tail: bytes, detail: str) -> None:
    pieces = [gzip.compress(b"a,b\n", mtime=0) + tail]
    with pytest.raises(DamagedUpload, match=detail):
        list(gunzip(pieces, IntakeLimits()))


def test_countless_empty_members_are_refused() -> None:
    empty = gzip.compress(b"", mtime=0)
    with pytest.raises(DamagedUpload, match="almost empty"):
        list(gunzip([empty * 100_000], IntakeLimits()))


def test_many_members_of_some_rows_are_taken() -> None:
    member = gzip.compress(b"5,P\n" * 100, mtime=0)
    assert b"".join(gunzip([member * 3000], IntakeLimits())) == b"5,P\n" * 300_000


def test_a_bomb_of_several_members_is_refused() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(40)) + packer.flush()
    pieces = gunzip([bomb * 2], IntakeLimits())
    with pytest.raises(DecompressionBomb):
        drain(pieces)
    assert list(pieces) == []


def drain(pieces: Iterator[bytes]) -> None:
    for _ in pieces:
        pass


def test_a_gzip_within_a_gzip_is_refused(tmp_path: Path) -> None:
    twice = gzip.compress(gzip.compress(b"age,work\n1,P\n", mtime=0), mtime=0)
    assert refused(twice, tmp_path, kind=GZIP).code == "content-disagrees"
