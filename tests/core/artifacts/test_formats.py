import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from core.artifacts.sampling.formats import MEDIA_TYPES, stream
from core.artifacts.sampling.sampler import Sampler
from tests.core.artifacts.stand_in import bundle


def _file(name, rows=2500):
    return b"".join(stream(Sampler(bundle()).batches(rows, batch_rows=1000), name))


def test_csv_has_a_header_and_quotes_what_needs_it():
    lines = list(csv.DictReader(io.StringIO(_file("csv").decode())))
    assert len(lines) == 2500
    assert set(lines[0]) == {"ward", "age", "sick", "seen"}
    assert {line["ward"] for line in lines} == {"A", 'B, or "C"', "Ü"}
    assert all(line["seen"].startswith("2020-01-") for line in lines)


def test_parquet_is_one_whole_file():
    table = pyarrow.parquet.read_table(pa.BufferReader(_file("parquet")))
    assert table.num_rows == 2500
    assert table.schema.field("seen").type == pa.date32()


def test_jsonl_has_an_object_a_line():
    lines = [json.loads(line) for line in _file("jsonl").decode().splitlines()]
    assert len(lines) == 2500
    assert isinstance(lines[0]["age"], int)
    assert lines[0]["seen"].startswith("2020-01-")


def test_an_arrow_stream_is_read_batch_by_batch():
    with pa.ipc.open_stream(_file("arrow")) as reader:
        assert [batch.num_rows for batch in reader] == [1000, 1000, 500]
        assert reader.schema.field("seen").type == pa.date32()


@pytest.mark.parametrize("name", MEDIA_TYPES)
def test_bytes_come_before_all_rows_are_drawn(name):
    pieces = stream(Sampler(bundle()).batches(10**12, batch_rows=1000), name)
    assert len(next(pieces)) > 100
    pieces.close()


def test_formats_hold_the_same_distribution():
    for name in ("csv", "jsonl"):
        assert _file(name, rows=1).count(b"\n") == (2 if name == "csv" else 1)


def test_parquet_is_read_alike_by_other_readers(tmp_path):
    import duckdb

    file = tmp_path / "rows.parquet"
    file.write_bytes(_file("parquet"))
    told = (
        duckdb.sql(f"select count(*), min(seen)::varchar, count(distinct ward), max(age) from '{file}'")
        .limit(1)
        .fetchall()[0]
    )
    pandas = pytest.importorskip("pandas").read_parquet(file)
    assert told == (len(pandas), str(pandas["seen"].min()), pandas["ward"].nunique(), pandas["age"].max())
    assert told[0] == 2500


def test_parquet_has_the_same_types_and_nulls_for_polars(tmp_path):
    polars = pytest.importorskip("polars")
    columns = {
        "whole": pa.array([1, None, 3], pa.int64()),
        "real": pa.array([0.5, float("inf"), None]),
        "word": pa.array(["a", None, "Ü"]).dictionary_encode(),
        "flag": pa.array([True, None, False]),
        "day": pa.array([None, 0, 18_262], pa.date32()),
        "moment": pa.array([0, None, 1_577_836_800_000_000], pa.timestamp("us")),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    (file := tmp_path / "rows.parquet").write_bytes(b"".join(stream(iter([batch]), "parquet")))
    frame = polars.read_parquet(file)
    kinds = [polars.Int64, polars.Float64, polars.Categorical, polars.Boolean, polars.Date, polars.Datetime]
    assert [kind.base_type() for kind in frame.dtypes] == kinds
    assert frame.null_count().row(0) == (1,) * 6
    assert frame.to_dict(as_series=False) == batch.to_pydict()
    drawn = tmp_path / "drawn.parquet"
    drawn.write_bytes(_file("parquet"))
    assert polars.read_parquet(drawn).rows() == [
        tuple(row.values()) for row in pyarrow.parquet.read_table(drawn).to_pylist()
    ]
