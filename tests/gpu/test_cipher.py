from collections.abc import Callable

import numpy as np
import pytest
import torch

from models.devices import cipher
from models.devices.cipher import StreamWords
from models.devices.errors import DeviceDiffers
from models.devices.keystream_kernel import keystream_kernel
from models.randomness import KeyedStreams, KeystreamReader, Purpose
from tests.gpu.places import on_every_device


@on_every_device
@pytest.mark.parametrize("count", [1, 8, 9, 1000, 70_001])
def test_the_words_are_the_librarys(device: torch.device, count: int) -> None:
    make = StreamWords(count, device)
    for key, purpose, step in (
        (bytes(32), Purpose.GRADIENT_NOISE, 0),
        (bytes(range(32)), Purpose.TEST, 2**64 - 1),
        (bytes([255] * 32), Purpose.ACTS_NOISE, 2**31),
    ):
        streams = KeyedStreams(key)
        made = make(streams.reader(purpose, step)).cpu().numpy().view(np.uint64)
        assert count <= len(made) < count + cipher.BLOCK_WORDS
        assert np.array_equal(made, streams.words(purpose, step, len(made)))


@on_every_device
def test_many_keys_and_nonces(device: torch.device) -> None:
    rng = np.random.default_rng(4)
    make = StreamWords(24, device)
    for _ in range(50):
        key, nonce = rng.bytes(32), rng.bytes(12)
        expected = KeystreamReader(key, nonce).words_into(np.empty(24, dtype=np.uint64))
        assert np.array_equal(make(KeystreamReader(key, nonce)).cpu().numpy().view(np.uint64), expected)


def test_a_reader_is_not_advanced() -> None:
    reader = KeystreamReader(bytes(32), bytes(12))
    StreamWords(5, torch.device("cpu"))(reader)
    assert reader.take(8) == KeystreamReader(bytes(32), bytes(12)).take(8)


def test_power_a_device_with_another_stream_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cipher._quarter_rounds  # private: a faulty device is one that rounds wrongly inside
    calls = []

    def faulty(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor) -> None:
        whole(a, b, c, d)
        calls.append(a)
        if len(calls) == 7:
            a[2, -1] ^= 1  # one bit of the last block

    # private: plants a faulty cipher
    monkeypatch.setattr(cipher, "_quarter_rounds", faulty)
    with pytest.raises(DeviceDiffers):
        StreamWords(100, torch.device("cpu"))


@pytest.mark.parametrize("fault", ["wrong words", "refused when compiled", "refused when launched"])
def test_a_kernel_that_fails_is_not_used(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launches = []

    def faulty(start: torch.Tensor, words: torch.Tensor) -> Callable[[], None]:
        del start
        if fault == "refused when compiled":
            raise RuntimeError(fault)

        def launch() -> None:
            launches.append(fault)
            if fault == "refused when launched":
                raise RuntimeError(fault)
            words.zero_()

        return launch

    monkeypatch.setattr(cipher, "keystream_kernel", faulty)
    streams = KeyedStreams(bytes(32))
    made = StreamWords(100, torch.device("cpu"))(streams.reader(Purpose.TEST, 3)).numpy().view(np.uint64)
    assert np.array_equal(made, streams.words(Purpose.TEST, 3, len(made)))
    assert len(launches) == (fault != "refused when compiled"), "tried once, with a public key"


def test_short_memory_is_not_taken_for_another_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    def short() -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(cipher, "keystream_kernel", lambda *_: short)
    with pytest.raises(torch.OutOfMemoryError):
        StreamWords(100, torch.device("cpu"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("blocks", [1, 127, 129, 27_114])
def test_one_kernel_makes_the_librarys_words(blocks: int) -> None:
    pytest.importorskip("cuda.bindings", reason="the CUDA bindings are not installed")
    reader = KeystreamReader(bytes(range(32)), bytes(range(12)))
    first = np.frombuffer(reader.first_block_input, dtype="<i4").astype(np.int32)
    words = torch.zeros(16 * blocks + 16, dtype=torch.int32, device="cuda")
    launch = keystream_kernel(torch.from_numpy(first).cuda(), words[:-16])
    assert launch is not None
    launch()
    expected = reader.words_into(np.empty(8 * blocks, dtype=np.uint64))
    assert np.array_equal(words[:-16].cpu().numpy().view(np.uint64), expected)
    assert not words[-16:].any(), "nothing beyond the last block"


@on_every_device
def test_words_that_cannot_be_captured_are_made_one_by_one(
    device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(make: object, there: torch.device) -> None:
        del make, there
        raise RuntimeError("cannot be captured")

    monkeypatch.setattr(cipher, "captured", fails)
    monkeypatch.setattr(cipher, "keystream_kernel", lambda *_: None)
    streams = KeyedStreams(bytes(32))
    made = StreamWords(100, device)(streams.reader(Purpose.TEST, 3)).cpu().numpy().view(np.uint64)
    assert np.array_equal(made, streams.words(Purpose.TEST, 3, len(made)))


def test_a_stream_never_runs_past_its_counter() -> None:
    with pytest.raises(ValueError, match="counter"):
        StreamWords(2**32 * cipher.BLOCK_WORDS, torch.device("cpu"))
