import numpy as np
import pytest
import torch

from models.devices import cipher
from models.devices.cipher import StreamWords
from models.devices.errors import DeviceDiffers
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

    monkeypatch.setattr(cipher, "_quarter_rounds", faulty)
    with pytest.raises(DeviceDiffers):
        StreamWords(100, torch.device("cpu"))


@on_every_device
def test_words_that_cannot_be_captured_are_made_one_by_one(
    device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(make: object, there: torch.device) -> None:
        del make, there
        raise RuntimeError("cannot be captured")

    monkeypatch.setattr(cipher, "captured", fails)
    streams = KeyedStreams(bytes(32))
    made = StreamWords(100, device)(streams.reader(Purpose.TEST, 3)).cpu().numpy().view(np.uint64)
    assert np.array_equal(made, streams.words(Purpose.TEST, 3, len(made)))


def test_a_stream_never_runs_past_its_counter() -> None:
    with pytest.raises(ValueError, match="counter"):
        StreamWords(2**32 * cipher.BLOCK_WORDS, torch.device("cpu"))
