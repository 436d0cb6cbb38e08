import io
import itertools

import numpy as np
import pyarrow as pa
import pytest

from core.data.errors import SealBroken
from core.data.objects import ObjectStore, open_store
from core.data.private_rows import PrivateShards, open_private_rows
from core.data.sealing import SealedWriter
from core.data.stored_rows import open_writer, rows_context
from core.plan.domain.declared import Domain
from core.plan.domain.schema import storage_schema
from tests.core.data.desk import AGE, KEY, WORK
from tests.core.plan.domain.examples import table

PATIENT = {"name": "patient", "kind": "unit"}
BATCHES, ROWS = 7, 500


def batches(*, fresh_dictionaries: bool = False) -> list[pa.RecordBatch]:
    """Batches of rows; with `fresh_dictionaries` every second one lists its words in another order."""
    rng = np.random.default_rng(1)
    made = []
    for number in range(BATCHES):
        words = ["Q", "P"] if fresh_dictionaries and number % 2 else ["P", "Q"]
        work = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 2, ROWS).astype(np.int16)), words)
        patient = pa.array([f"p{one}" for one in rng.integers(0, 900, ROWS)])
        made.append(
            pa.RecordBatch.from_arrays(
                [pa.array(rng.integers(0, 99, ROWS)), work, patient], names=["age", "work", "patient"]
            )
        )
    return made


def domain() -> Domain:
    return table(AGE, WORK, PATIENT, privacy_unit="patient")


def stored(made: list[pa.RecordBatch]) -> ObjectStore:
    sink = io.BytesIO()
    with (
        SealedWriter(sink, key=KEY, context=rows_context("rows")) as sealed,
        open_writer(sealed, domain()) as writer,
    ):
        for batch in made:
            writer.write_batch(batch.cast(storage_schema(domain())))
    store = open_store("memory://")
    store.put_bytes("rows", sink.getvalue())
    return store


@pytest.mark.parametrize("fresh_dictionaries", [False, True])
@pytest.mark.parametrize("shard_bytes", [1, 10_000, 1 << 30])
def test_shards_hold_every_row_once_and_in_order(shard_bytes, fresh_dictionaries):
    store = stored(batches(fresh_dictionaries=fresh_dictionaries))
    whole = pa.Table.from_batches(open_private_rows(store, "rows", KEY, domain()))
    shards = PrivateShards(store, "rows", KEY, domain(), shard_bytes=shard_bytes)
    assert len(shards) == {1: BATCHES, 1 << 30: 1}.get(shard_bytes, len(shards))
    assert shard_bytes != 10_000 or 1 < len(shards) < BATCHES
    parts = [list(shards.read(shard)) for shard in range(len(shards))]
    assert all(parts)
    assert pa.Table.from_batches(itertools.chain(*parts)).to_pylist() == whole.to_pylist()
    again = [list(shards.read(shard)) for shard in reversed(range(len(shards)))]
    assert [len(part) for part in again] == [len(part) for part in reversed(parts)]


def test_some_columns_are_read_alone():
    shards = PrivateShards(stored(batches(fresh_dictionaries=True)), "rows", KEY, domain(), shard_bytes=1)
    for shard, batch in enumerate(batches(fresh_dictionaries=True)):
        (read,) = shards.read(shard, ["patient"])
        assert read.schema.names == ["patient"]
        assert read.column(0).to_pylist() == batch.column(2).to_pylist()


def test_a_table_without_batches_is_one_empty_shard():
    shards = PrivateShards(stored([]), "rows", KEY, domain())
    assert len(shards) == 1
    assert list(shards.read(0)) == []


def test_shards_open_with_their_key_and_domain_alone():
    store = stored(batches())
    with pytest.raises(SealBroken):
        PrivateShards(store, "rows", bytes(32), domain())
    other = PrivateShards(store, "rows", KEY, table(AGE, WORK))
    with pytest.raises(SealBroken):
        next(other.read(0))


def test_a_changed_byte_is_found_in_its_shard():
    store = stored(batches())
    sealed = bytearray(store.get_bytes("rows"))
    shards = PrivateShards(store, "rows", KEY, domain(), shard_bytes=1)
    sealed[len(sealed) // 2] ^= 1
    store.put_bytes("rows", bytes(sealed))
    with pytest.raises(SealBroken):
        [list(shards.read(shard)) for shard in range(len(shards))]
