"""The streams are ChaCha20 of RFC 8439, reached through our own addresses and checked against a second implementation.

The nonce of an address is `purpose (4 bytes, little endian) || step (8 bytes, little endian)`, so every vector of the
RFC has an address, and its block counter says where in the stream it lies.
"""

from typing import cast

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given, settings
from hypothesis import strategies as st

from models.randomness import KeyedStreams, KeystreamReader, Purpose
from tests.privacy.laws.chacha20 import blocks

ZERO = bytes(32)
COUNTING = bytes(range(32))
VECTORS = {
    "2.3.2": (COUNTING, "000000090000004a00000000", 1,
        ("10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e")),
    "A.1 number 1": (ZERO, "000000000000000000000000", 0,
        ("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586")),
    "A.1 number 2": (ZERO, "000000000000000000000000", 1,
        ("9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f")),
    "A.1 number 3": (bytes(31) + b"\x01", "000000000000000000000000", 1,
        ("3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0")),
    "A.1 number 4": (b"\x00\xff" + bytes(30), "000000000000000000000000", 2,
        ("72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096")),
    "A.1 number 5": (ZERO, "000000000000000000000002", 0,
        ("c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
        "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d")),
}  # fmt: skip


@pytest.mark.parametrize("section", VECTORS)
def test_a_vector_of_the_rfc_lies_at_its_address(section: str) -> None:
    key, nonce, counter, expected = VECTORS[section]
    purpose = cast("Purpose", int.from_bytes(bytes.fromhex(nonce)[:4], "little"))
    step = int.from_bytes(bytes.fromhex(nonce)[4:], "little")
    stream = KeyedStreams(key).bytes(purpose, step, 64 * (counter + 1))
    assert stream[64 * counter :].hex() == expected
    assert blocks(key, bytes.fromhex(nonce), range(counter, counter + 1)).hex() == expected


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    key=st.binary(min_size=32, max_size=32),
    purpose=st.sampled_from(sorted(Purpose)),
    step=st.integers(0, 2**64 - 1),
    size=st.integers(0, 700),
)
def test_every_address_is_the_stream_of_its_nonce(key: bytes, purpose: Purpose, step: int, size: int) -> None:
    nonce = int(purpose).to_bytes(4, "little") + step.to_bytes(8, "little")
    expected = blocks(key, nonce, range(-(-size // 64)))[:size]
    assert KeyedStreams(key).bytes(purpose, step, size) == expected
    assert KeyedStreams(key).reader(purpose, step).take(size) == expected


def test_the_block_counter_crosses_its_bytes() -> None:
    streams, nonce = KeyedStreams(COUNTING), int(Purpose.GRADIENT_NOISE).to_bytes(4, "little") + bytes(8)
    whole = streams.bytes(Purpose.GRADIENT_NOISE, 0, 64 * (2**16 + 2))
    for last in (2**8 - 1, 2**16 - 1):
        assert whole[64 * last : 64 * (last + 3)] == blocks(COUNTING, nonce, range(last, last + 3))
    words = streams.words(Purpose.GRADIENT_NOISE, 0, 8 * (2**16 + 2))
    assert words.astype("<u8").tobytes() == whole


def test_no_stream_runs_on_into_the_next_purpose() -> None:
    """At 2^32 blocks the counter would spill into the nonce, whose first bytes are the purpose: it is refused."""
    reader = KeystreamReader(COUNTING, bytes(12))
    near = (2**32 - 1).to_bytes(4, "little") + bytes(12)  # as if 256 GiB less a block had been read
    # private: stands for 256 GiB read, which no test can read
    reader._encryptor = Cipher(algorithms.ChaCha20(COUNTING, near), mode=None).encryptor()
    assert reader.take(64) == blocks(COUNTING, bytes(12), range(2**32 - 1, 2**32))
    with pytest.raises(ValueError, match="counter"):
        reader.take(1)
    with pytest.raises(ValueError, match="counter"):
        reader.words_into(np.empty(1, dtype=np.uint64))


def test_addresses_are_distinguished_in_every_bit() -> None:
    """Purposes and steps never share a nonce: 64 steps of one bit each, every purpose, the key's 256 bits."""
    streams = KeyedStreams(COUNTING)
    addresses = [(purpose, step) for purpose in Purpose for step in (0, *(1 << bit for bit in range(64)))]
    heads = {streams.bytes(purpose, step, 16) for purpose, step in addresses}
    keys = [bytes(byte ^ (1 << bit if at == place else 0) for place, byte in enumerate(COUNTING))
            for at in range(32) for bit in range(8)]  # fmt: skip
    heads |= {KeyedStreams(key).bytes(Purpose.POISSON, 0, 16) for key in keys}
    assert len(heads) == len(addresses) + len(keys)
