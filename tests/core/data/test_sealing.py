import gc
import io
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data.errors import SealBroken
from core.data.sealing import (
    SealedReader,
    SealedWriter,
    new_data_key,
    open_bytes,
    seal_bytes,
    unwrap,
    wrap,
)

KEY = bytes(range(32))
HEADER = 44
CHUNK = 16
STRIDE = CHUNK + 16


def seal(*pieces: bytes, chunk: int = CHUNK, context: str = "here", key: bytes = KEY) -> bytes:
    raw = io.BytesIO()
    with SealedWriter(raw, key=key, context=context, chunk_bytes=chunk) as writer:
        for piece in pieces:
            writer.write(piece)
        assert writer.tell() == sum(map(len, pieces))
    return raw.getvalue()


def unseal(sealed: bytes, context: str = "here", key: bytes = KEY) -> bytes:
    return SealedReader(io.BytesIO(sealed), key=key, context=context).readall()


@given(pieces=st.lists(st.binary(max_size=70), max_size=5), chunk=st.integers(1, 40))
def test_what_is_sealed_in_pieces_opens_whole(pieces, chunk):
    assert unseal(seal(*pieces, chunk=chunk)) == b"".join(pieces)


@given(
    data=st.binary(max_size=100),
    moves=st.lists(st.tuples(st.integers(0, 120), st.integers(0, 50)), max_size=5),
)
def test_seeking_reads_what_a_plain_file_reads(data, moves):
    plain, sealed = (
        io.BytesIO(data),
        io.BufferedReader(SealedReader(io.BytesIO(seal(data)), key=KEY, context="here")),
    )
    for position, count in moves:
        assert sealed.seek(position) == plain.seek(position)
        assert sealed.read(count) == plain.read(count)
    assert sealed.seek(0, io.SEEK_END) == len(data)


def test_relative_seek_and_size():
    reader = SealedReader(io.BytesIO(seal(bytes(50))), key=KEY, context="here")
    reader.seek(10)
    assert reader.seek(5, io.SEEK_CUR) == reader.tell() == 15
    assert reader.size == 50
    assert reader.readable()
    assert reader.seekable()
    assert reader.seek(-99) == 0


def test_two_seals_of_the_same_bytes_differ_and_hide_them():
    data = b"canary" * 10
    first, second = seal(data), seal(data)
    assert first[HEADER:] != second[HEADER:]
    assert b"canary" not in first


@given(position=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_any_flipped_bit_is_noticed(position, bit):
    sealed = bytearray(seal(bytes(40)))
    sealed[position % len(sealed)] ^= 1 << bit
    with pytest.raises(SealBroken):
        unseal(bytes(sealed))


@given(kept=st.integers(0, 10**6))
def test_any_cut_is_noticed(kept):
    sealed = seal(bytes(range(64)))
    with pytest.raises(SealBroken):
        unseal(sealed[: kept % len(sealed)])


BODY_CHANGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "dropped last": lambda chunks: chunks[:-1],
    "dropped first": lambda chunks: chunks[1:],
    "exchanged": lambda chunks: [chunks[1], chunks[0], *chunks[2:]],
    "repeated": lambda chunks: [chunks[0], *chunks],
    "appended": lambda chunks: [*chunks, chunks[-1]],
    "nothing left": lambda _chunks: [],
}


@pytest.mark.parametrize("change", BODY_CHANGES)
def test_moved_chunks_are_noticed(change):
    sealed = seal(bytes(range(64)))
    chunks = [sealed[at : at + STRIDE] for at in range(HEADER, len(sealed), STRIDE)]
    with pytest.raises(SealBroken):
        unseal(sealed[:HEADER] + b"".join(BODY_CHANGES[change](chunks)))


def test_a_chunk_of_another_stream_under_the_same_key_is_noticed():
    first, second = seal(bytes(64)), seal(bytes(64))
    with pytest.raises(SealBroken):
        unseal(first[: HEADER + STRIDE] + second[HEADER + STRIDE :])


@pytest.mark.parametrize(("key", "context"), [(bytes(32), "here"), (KEY, "there")])
def test_another_key_or_context_does_not_open(key, context):
    with pytest.raises(SealBroken):
        unseal(seal(b"data"), key=key, context=context)


@pytest.mark.parametrize("header", [b"", b"USEAL\x00\x00\x02" + bytes(60), b"USEAL\x00\x00\x01" + bytes(60)])
def test_something_else_is_not_a_sealed_stream(header):
    with pytest.raises(SealBroken):
        unseal(header)


def test_an_interrupted_writer_leaves_nothing_that_opens():
    raw = io.BytesIO()

    def interrupted() -> None:
        with SealedWriter(raw, key=KEY, context="here", chunk_bytes=CHUNK) as writer:
            writer.write(bytes(64))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    with pytest.raises(SealBroken):
        unseal(raw.getvalue())


def test_a_writer_nobody_closed_leaves_nothing_that_opens():
    raw = io.BytesIO()
    writer = SealedWriter(raw, key=KEY, context="here", chunk_bytes=CHUNK)
    writer.write(bytes(64))
    del writer
    gc.collect()
    with pytest.raises(SealBroken):
        unseal(raw.getvalue())


def test_misuse_is_an_error():
    with pytest.raises(ValueError, match="32 bytes"):
        seal(b"", key=b"short")
    with pytest.raises(ValueError, match="chunk_bytes"):
        seal(b"", chunk=0)
    writer = SealedWriter(io.BytesIO(), key=KEY, context="here")
    assert writer.writable()
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"more")


@given(data=st.binary(max_size=50), context=st.text(max_size=5))
def test_blobs_open_under_their_key_and_context_only(data, context):
    sealed = seal_bytes(KEY, data, context=context)
    assert open_bytes(KEY, sealed, context=context) == data
    for key, place, bytes_ in [
        (bytes(32), context, sealed),
        (KEY, context + "!", sealed),
        (KEY, context, sealed[:-1]),
    ]:
        with pytest.raises(SealBroken):
            open_bytes(key, bytes_, context=place)


def test_wrapped_keys_are_bound_to_their_context_and_purpose():
    data_key = new_data_key()
    wrapped = wrap(KEY, data_key, context="dataset:1")
    assert unwrap(KEY, wrapped, context="dataset:1") == data_key
    assert data_key not in wrapped
    with pytest.raises(SealBroken):
        unwrap(KEY, wrapped, context="dataset:2")
    with pytest.raises(SealBroken):
        open_bytes(KEY, wrapped, context="dataset:1")
    assert new_data_key() != data_key
