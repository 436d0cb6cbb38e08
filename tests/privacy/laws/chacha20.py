"""ChaCha20 a second time, from the text of RFC 8439, section 2.3, for many blocks at once."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint32]
_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4")
_QUARTERS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


def blocks(key: bytes, nonce: bytes, counters: range) -> bytes:
    """The keystream of some block counters, 64 bytes each."""
    state = np.empty((16, len(counters)), dtype=np.uint32)
    state[:4] = _CONSTANTS[:, None]
    state[4:12] = np.frombuffer(key, dtype="<u4")[:, None]
    state[12] = np.array(counters, dtype=np.uint32)
    state[13:] = np.frombuffer(nonce, dtype="<u4")[:, None]
    x = state.copy()
    for _ in range(10):
        for quarter in _QUARTERS:
            _quarter_round(x, *quarter)
    return (x + state).T.astype("<u4").tobytes()


def _quarter_round(x: Numbers, a: int, b: int, c: int, d: int) -> None:
    for target, other, changed, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[target] += x[other]
        x[changed] ^= x[target]
        x[changed] = (x[changed] << np.uint32(turn)) | (x[changed] >> np.uint32(32 - turn))
