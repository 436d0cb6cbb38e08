"""Replay-safe randomness: ChaCha20 streams addressed by (purpose, step).

Every job has its own 256-bit key. A draw is addressed by its purpose and by the step that needs it. So a job that resumes,
or is delivered twice, replays exactly the same coins and the same noise: a crash never spends budget twice and never
averages noise away (docs/decisions/replay-safe-randomness.md).

The stream of an address is the ChaCha20 keystream (RFC 8439) with the block counter starting at zero and the 96-bit
nonce `purpose (4 bytes, little endian) || step (8 bytes, little endian)`. Every call starts at the beginning of its
address, so an address serves one draw only; `Purpose` has a member for every draw there is.
"""

import math
import sys
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from models.releases import NullRecorder, ReleaseRecorder

KEY_BYTES = 32
_BLOCK_BYTES = 64
_CONSTANTS = b"expand 32-byte k"
_MAX_BYTES = _BLOCK_BYTES * 2**32  # the 32-bit block counter of RFC 8439 would wrap beyond
_MAX_STEP = 2**64
_TO_UNIT_53 = 2.0**-53
_TO_UNIT_64 = 2.0**-64
_HALF_UNIT_64 = 2.0**-65
_RARE = np.uint64(
    2**44
)  # a radius whose word lies this close to either end takes a second word: one in half a million
TURN_OF_WORD = 2.0 * math.pi * _TO_UNIT_64  # radians of one step of a signed word: from -pi to pi
PIECE = 1 << 15  # normals made at a time, so that every intermediate stays in the cache
_ZEROS = memoryview(bytes(8 * PIECE))

Shape = int | Sequence[int]


class Purpose(IntEnum):
    """Purpose of a draw. Numbers are part of the replay contract: never renumber, only append."""

    LABEL_NOISE = 1
    ANCHOR_NOISE = 2
    POISSON = 3
    RECORD_CHOICE = 4
    GRADIENT_NOISE = 5
    ACTS_NOISE = 6
    CRITIC_INIT = 7
    GENERATOR_INIT = 8
    LATENT = 9
    INTERPOLATION = 10
    PRETRAINING = 11
    CRITIC_LATENT = 12
    CRITIC_LABELS = 13
    GENERATOR_LATENT = 14
    GENERATOR_LABELS = 15
    SAMPLING = 16
    NOISE_SPLIT = 17
    EARLY_STOPPING = 18
    SHRINKAGE = 19
    SCREENING_ERROR = 20
    SELECTION_KEY = 32
    SELECTION_SPLIT = 33
    SELECTION_SAMPLE = 34
    SELECTION_CHOICE = 35
    EMBEDDING_NOISE = 48
    EMBEDDING_FREQUENCIES = 49
    IMAGE_MEANS_NOISE = 64
    IMAGE_BASIS_NOISE = 65
    IMAGE_CELLS_NOISE = 66
    IMAGE_MOMENTS_NOISE = 67
    IMAGE_CELLS_START = 68
    IMAGE_BRIGHTNESS_NOISE = 69
    REPORT_NOISE = 80
    ONE_WAY_NOISE = 81
    SCORE_NOISE = 82
    MARGINAL_NOISE = 83
    GENERATOR_CHECK = 96
    UNIT_KEY = 112
    LEARNING_NOISE = 113
    MODEL_COMPONENTS_NOISE = 128
    MODEL_ACCURACY_NOISE = 129
    FEDERATION_KEY = 130
    TEST = 99


def keystream(key: bytes, nonce: bytes, count: int) -> bytes:
    """The first `count` bytes of the ChaCha20 keystream, block counter from zero (RFC 8439, section 2.4).

    Args:
        key: 32 bytes.
        nonce: 12 bytes.
        count: number of bytes, at most 256 GiB.
    """
    if not 0 <= count <= _MAX_BYTES:
        raise ValueError("a keystream serves between 0 and 2**38 bytes")
    return KeystreamReader(key, nonce).take(count)


class KeystreamReader:
    """Reads one keystream from its beginning, piece by piece.

    Args:
        key: 32 bytes.
        nonce: 12 bytes.
    """

    def __init__(self, key: bytes, nonce: bytes) -> None:
        if len(nonce) != 12:  # noqa: PLR2004 - the 96-bit nonce of RFC 8439
            raise ValueError("a ChaCha20 nonce has 12 bytes")
        counter = bytes(4)
        self._encryptor = Cipher(algorithms.ChaCha20(key, counter + nonce), mode=None).encryptor()
        self._first_block_input = _CONSTANTS + key + counter + nonce

    @property
    def first_block_input(self) -> bytes:
        """The 64 bytes that the first block is made of (RFC 8439, section 2.3), for devices with a cipher of their own.

        As secret as the key: who has them can subtract the noise.
        """
        return self._first_block_input

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        return self._encryptor.update(bytes(count))

    def words_into(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Overwrite `words` with the next uniform words (little endian, whatever the machine)."""
        raw = words.view(np.uint8).data
        for first in range(0, len(raw), len(_ZEROS)):
            piece = raw[first : first + len(_ZEROS)]
            self._encryptor.update_into(_ZEROS[: len(piece)], piece)
        if sys.byteorder == "big":  # pragma: no cover - no such machine here
            words.byteswap(inplace=True)
        return words

    def below(self, high: int) -> int:
        """An integer uniform on 0..high-1, exact: bits are drawn until they fall below `high`."""
        if high < 1:
            raise ValueError("there is no number below one")
        bits = (high - 1).bit_length()
        while True:
            drawn = int.from_bytes(self.take((bits + 7) // 8), "little") & ((1 << bits) - 1)
            if drawn < high:
                return drawn


class KeyedStreams:
    """All randomness of one job.

    Args:
        key: 32 bytes, fresh from the operating system for every job.
        releases: sees every release; `NullRecorder` by default.
    """

    def __init__(self, key: bytes, *, releases: ReleaseRecorder | None = None) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError("the key of a job has 32 bytes")
        self._key = bytes(key)
        self.releases: ReleaseRecorder = releases or NullRecorder()

    def __repr__(self) -> str:
        """Without the key."""
        return "KeyedStreams(<sealed>)"

    def bytes(self, purpose: Purpose, step: int, count: int) -> bytes:
        """`count` bytes of the stream of (purpose, step)."""
        return keystream(self._key, _nonce(purpose, step), count)

    def reader(self, purpose: Purpose, step: int) -> KeystreamReader:
        """A reader at the beginning of the stream of (purpose, step)."""
        return KeystreamReader(self._key, _nonce(purpose, step))

    def words(self, purpose: Purpose, step: int, count: int) -> npt.NDArray[np.uint64]:
        """`count` uniform 64-bit words."""
        return self.reader(purpose, step).words_into(np.empty(count, dtype=np.uint64))

    def uniforms(self, purpose: Purpose, step: int, shape: Shape) -> npt.NDArray[np.float64]:
        """Uniform numbers in [0, 1), multiples of 2**-53, in float64."""
        size, dims = _size(shape)
        words = self.words(purpose, step, size)
        return ((words >> np.uint64(11)).astype(np.float64) * _TO_UNIT_53).reshape(dims)

    def normals(self, purpose: Purpose, step: int, shape: Shape) -> npt.NDArray[np.float64]:
        """Standard normal numbers in float64 by Box and Muller; see `NormalSource`."""
        size, dims = _size(shape)
        made = torch.empty(size, dtype=torch.float64)
        normals_into(made, self.reader(purpose, step))
        return made.numpy().reshape(dims)

    def coins(self, purpose: Purpose, step: int, probability: float, count: int) -> npt.NDArray[np.bool_]:
        """`count` independent coins, each heads with exactly the float64 `probability`.

        A uniform 64-bit word is compared with the first 64 bits of the probability; on the one tie in 2**64 the
        remaining bits decide with fresh words of the same stream, so no rounding of the rate takes place.
        """
        if not 0.0 <= probability <= 1.0:
            raise ValueError("a probability lies between 0 and 1")
        numerator, denominator = probability.as_integer_ratio()
        scaled = numerator << 64
        threshold, rest = divmod(scaled, denominator)
        words = self.words(purpose, step, count)
        if threshold == 2**64:
            return np.ones(count, dtype=np.bool_)
        heads = words < np.uint64(threshold)
        if rest:
            ties = np.flatnonzero(words == np.uint64(threshold))
            for tie in ties:
                heads[tie] = self._decide_tie(purpose, step, count, int(tie), rest, denominator)
        return heads

    def integers(self, purpose: Purpose, step: int, high: int, shape: Shape) -> npt.NDArray[np.int64]:
        """Integers uniform on 0..high-1 (`high` up to 2**31), exact by rejection from a continued stream."""
        if not 1 <= high <= 2**31:
            raise ValueError("integers are drawn below 2**31")
        size, dims = _size(shape)
        limit = np.uint64(2**64 - 2**64 % high - 1)
        spare = size // 8 + 16
        while True:
            words = self.words(purpose, step, size + spare)
            kept = words[words <= limit]
            if kept.size >= size:
                return (kept[:size] % np.uint64(high)).astype(np.int64).reshape(dims)
            spare *= 2  # pragma: no cover - a rejection has probability below 2**-33

    def torch_uniforms(self, purpose: Purpose, step: int, shape: Shape) -> torch.Tensor:
        """Uniform numbers in [0, 1), multiples of 2**-24, as a float32 tensor."""
        size, dims = _size(shape)
        words = np.frombuffer(self.bytes(purpose, step, 4 * size), dtype="<u4")
        return torch.from_numpy(
            ((words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)).reshape(dims)
        )

    def torch_normals(self, purpose: Purpose, step: int, shape: Shape) -> torch.Tensor:
        """Standard normal numbers as a float32 tensor, rounded from float64."""
        return torch.from_numpy(self.normals(purpose, step, shape)).to(torch.float32)

    def _decide_tie(
        self, purpose: Purpose, step: int, count: int, index: int, rest: int, denominator: int
    ) -> bool:
        """Compare the remaining bits of the probability, all of them, with fresh bits after all first words."""
        each = max(1, -(-(denominator.bit_length() - 1 - 64) // 64))
        first = count + index * each
        fresh = int.from_bytes(
            self.words(purpose, step, first + each)[first:].astype("<u8").tobytes(), "little"
        )
        return fresh * denominator < rest << 64 * each


class NormalSource:
    """Makes standard normal numbers from a reader's words, in reused buffers.

    Box and Muller (1958) on pairs of uniform words. The radius takes a whole word, `u = (word + 1/2) 2**-64` in (0, 1].
    Near 0 or 1 the spacing of `u` would give radii coarser than the grid of the noise, so within 2**-20 of either end it takes
    a second word for its next 64 bits. Then `sqrt(-2 log u)` is fine enough everywhere and at most 13.4. The angle takes a word,
    rounded to 53 bits. The first half of the words makes radii, the second half angles, then come the second words of rare
    radii; of the numbers, cosines come first, then sines.
    """

    def __init__(self) -> None:
        self._words = np.empty(PIECE, dtype=np.uint64)
        self._radius = np.empty(PIECE // 2, dtype=np.float64)
        self._angle = torch.empty(PIECE // 2, dtype=torch.float64)
        self._cosine = torch.empty(PIECE // 2, dtype=torch.float64)

    def fill(self, piece: torch.Tensor, reader: KeystreamReader, *, std: float = 1.0) -> torch.Tensor:
        """Overwrite a flat contiguous float64 tensor of at most `PIECE` numbers.

        Advances the reader by as many words, made even, and by one for every rare radius.
        """
        words = reader.words_into(self._words[: piece.numel() + piece.numel() % 2])
        rare = np.flatnonzero(words[: words.size // 2] + _RARE < _RARE + _RARE)  # the sum wraps around
        finer = reader.words_into(np.empty(rare.size, dtype=np.uint64))
        return self.from_words(words, piece, rare=rare, finer=finer, std=std)

    def from_words(
        self,
        words: npt.NDArray[np.uint64],
        piece: torch.Tensor,
        *,
        rare: npt.NDArray[np.int64],
        finer: npt.NDArray[np.uint64],
        std: float | npt.NDArray[np.float64] = 1.0,
    ) -> torch.Tensor:
        """The numbers of standard deviation `std` that words make, written over `piece`.

        Args:
            words: an even count.
            piece: as many numbers, or one less.
            rare: which radii have a second word.
            finer: their second words.
            std: standard deviation, of all or of each pair.
        """
        pairs = words.size // 2
        u = self._radius[:pairs]
        np.multiply(words[:pairs], _TO_UNIT_64, out=u)
        u += _HALF_UNIT_64
        np.log(u, out=u)
        u[rare] = _logarithms(words[rare], finer)
        u *= -2.0 * std * std
        radius = torch.from_numpy(np.sqrt(u, out=u))
        angle = self._angle[:pairs].copy_(torch.from_numpy(words[pairs:].view(np.int64)))
        angle.mul_(TURN_OF_WORD)
        torch.mul(torch.cos(angle, out=self._cosine[:pairs]), radius, out=piece[:pairs])
        piece[pairs:] = angle.sin_().mul_(radius)[: piece.numel() - pairs]
        return piece


def _logarithms(words: npt.NDArray[np.uint64], finer: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """`log u` of words near 0 or 2**64 whose next 64 bits are known; `u` near 1 by its distance from 1."""
    low = words < _RARE
    distance = (np.where(low, words, ~words) + (finer * _TO_UNIT_64 + _HALF_UNIT_64)) * _TO_UNIT_64
    logarithms: npt.NDArray[np.float64] = np.where(low, np.log(distance), np.log1p(-distance))
    return logarithms


def near_an_end(words: torch.Tensor) -> torch.Tensor:
    """Mask of the (n,) int64 patterns of words so close to either end that, as radii, they take a second word."""
    reach = int(_RARE)
    return (words >= -reach) & (words < reach)


def expected_second_words(radii: int) -> float:
    """Expected number of radii, among so many, that take a second word."""
    return radii * 2.0 * float(_RARE) * _TO_UNIT_64


def normals_into(made: torch.Tensor, reader: KeystreamReader) -> torch.Tensor:
    """Overwrite a flat float64 tensor of any length with standard normal numbers, `PIECE` at a time."""
    source = NormalSource()
    for piece in torch.split(made, PIECE):
        source.fill(piece, reader)
    return made


def _nonce(purpose: Purpose, step: int) -> bytes:
    if not 0 <= step < _MAX_STEP:
        raise ValueError("a step is a number from 0 to 2**64 - 1")
    return int(purpose).to_bytes(4, "little") + step.to_bytes(8, "little")


def _size(shape: Shape) -> tuple[int, tuple[int, ...]]:
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    return math.prod(dims), dims
