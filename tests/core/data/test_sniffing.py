import gzip
import io
import tarfile

import pytest

from core.data.errors import ContentDisagrees, UnsupportedUpload
from core.data.intake.sniffing import CSV, GZIP, PARQUET, kind_of, require_fitting, sniffed
from tests.core.plan.domain.examples import table

TEXT = b"age,work\n1,P\n"


def tar() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        entry = tarfile.TarInfo("rows.csv")
        entry.size = len(TEXT)
        archive.addfile(entry, io.BytesIO(TEXT))
    return target.getvalue()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (CSV, TEXT),
        (CSV, "\ufeffage,größe\n".encode()),
        (CSV, b"PAR1,BZh\n1,2\n"),
        (CSV, b"A"),
        (GZIP, gzip.compress(TEXT, mtime=0)),
        (PARQUET, b"PAR1\x15\x04 and so on"),
    ],
    ids=["csv", "utf8 mark", "names like signatures", "one letter", "gzip", "parquet"],
)
def test_what_begins_as_declared_passes_unchanged(kind: str, content: bytes, size: int) -> None:
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    assert b"".join(sniffed(pieces, kind)) == content


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    ("kind", "content", "named"),
    [
        (CSV, gzip.compress(TEXT, mtime=0), GZIP),
        (CSV, b"PAR1\x15\x04\x00", PARQUET),
        (CSV, b"PK\x03\x04\x14\x00", "ZIP"),
        (CSV, tar(), "tar"),
        (CSV, b"%PDF-1.7\n", "PDF"),
        (CSV, b"\x28\xb5\x2f\xfd\x00", "zstd"),
        (GZIP, TEXT, "text"),
        (GZIP, b"PAR1\x15\x04\x00", PARQUET),
        (GZIP, b"\x00\x01\x02", "something else"),
        (PARQUET, TEXT, "text"),
        (PARQUET, gzip.compress(TEXT, mtime=0), GZIP),
        (PARQUET, b"ARROW1\x00\x00", "Arrow"),
    ],
    ids=[
        "gzip as csv", "parquet as csv", "zip as csv", "tar as csv", "pdf as csv", "zstd as csv", "csv as gzip",
        "parquet as gzip", "noise as gzip", "csv as parquet", "gzip as parquet", "arrow as parquet",
    ],
)  # fmt: skip
def test_what_begins_like_something_else_is_refused(kind: str, content: bytes, named: str, size: int) -> None:
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    with pytest.raises(ContentDisagrees, match=named) as caught:
        list(sniffed(pieces, kind))
    assert caught.value.facts == {"declared": kind}


@pytest.mark.parametrize(
    "content_type",
    ["", "text/html", "application/x-tar", "text/csv; charset=utf-32", "text/csv;charset=latin1"],
)
def test_content_types_that_are_not_read(content_type: str) -> None:
    with pytest.raises(UnsupportedUpload):
        kind_of(content_type)


@pytest.mark.parametrize("content_type", ["text/csv; charset=utf-16", "text/csv;charset=windows-1252"])
def test_another_encoding_than_the_declared_one_is_not_read(content_type: str) -> None:
    with pytest.raises(UnsupportedUpload):
        require_fitting(
            content_type,
            table(
                {"name": "age", "kind": "ignored"},
                {"name": "work", "kind": "boolean", "true": "yes", "false": "no"},
            ),
        )


@pytest.mark.parametrize(
    "content_type", ["text/csv", "Text/CSV; charset=UTF-8", 'text/csv; header=present; charset="utf-8"']
)
def test_content_types_of_csv(content_type: str) -> None:
    assert kind_of(content_type) == CSV
