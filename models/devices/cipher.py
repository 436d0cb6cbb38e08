"""The ChaCha20 keystream on any device, in torch's 32-bit integers.

The words are those of `models.randomness.KeystreamReader`, which takes them from a library. Integer sums, exclusive ors and
shifts do not round, so every device gives the same words. `StreamWords` checks this with a public key before it is used.
On a GPU one kernel of our own makes them (`models.devices.keystream_kernel`), if it can be compiled there.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import numpy as np
import torch
from torch import Tensor

from models.devices.cuda_graph import captured, supports_cuda_graphs
from models.devices.errors import DeviceDiffers
from models.devices.keystream_kernel import keystream_kernel
from models.randomness import KeystreamReader

BLOCK_WORDS: Final = 8
"""64-bit words of one block of the keystream."""
_DOUBLE_ROUNDS: Final = 10
_LARGEST: Final = 1 << 32
_COUNTER: Final = 12


class StreamWords:
    """Generates the first words of keystreams, always the same number of them.

    Args:
        count: 64-bit words, rounded up to whole blocks.

    Raises:
        DeviceDiffers: for a public key the device gives other words than the library.
    """

    def __init__(self, count: int, device: torch.device) -> None:
        blocks = -(-max(count, 1) // BLOCK_WORDS)
        if blocks >= _LARGEST:
            raise ValueError("the block counter of a keystream has 32 bits")
        self._device = device
        self._start = torch.zeros(16, dtype=torch.int32, device=device)
        counters = torch.arange(blocks, dtype=torch.int64, device=device)
        self._counters = counters.to(torch.int32)  # the low 32 bits
        self.made = torch.zeros(blocks * BLOCK_WORDS, dtype=torch.int64, device=device)
        """The words generated last; a static tensor."""
        self._make = self._checked()

    def __call__(self, reader: KeystreamReader) -> Tensor:
        """(words,) int64 patterns of the words from the beginning of a reader's stream, valid until the next call.

        Args:
            reader: not read and not advanced.
        """
        start = np.frombuffer(reader.first_block_input, dtype="<i4").astype(np.int32)
        self._start.copy_(torch.from_numpy(start))
        self._make()
        return self.made

    def __len__(self) -> int:
        """Words."""
        return len(self.made)

    def _blocks(self) -> None:
        state = self._start[:, None].repeat(1, len(self._counters))
        state[_COUNTER] = self._counters
        a, b, c, d = state.clone().view(4, 4, -1)
        for _ in range(_DOUBLE_ROUNDS):
            _quarter_rounds(a, b, c, d)
            b, c, d = b.roll(-1, 0), c.roll(-2, 0), d.roll(-3, 0)
            _quarter_rounds(a, b, c, d)
            b, c, d = b.roll(1, 0), c.roll(2, 0), d.roll(3, 0)
        words = state.add_(torch.cat((a, b, c, d)))
        self.made.view(torch.int32).view(-1, 16).copy_(words.T)

    def _checked(self) -> Callable[[], None]:
        """The fastest implementation that gives the library's words: one kernel, torch's operations captured, or launched."""
        key, nonce = bytes(range(32)), bytes(range(12))
        theirs = KeystreamReader(key, nonce).words_into(np.empty(len(self), dtype=np.uint64))
        expected = torch.from_numpy(theirs.view(np.int64))

        def gives_the_librarys_words(make: Callable[[], None]) -> bool:
            self._make = make
            return torch.equal(self(KeystreamReader(key, nonce)).cpu(), expected)

        for make in self._fast_implementations():
            try:
                if gives_the_librarys_words(make):
                    return make
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:  # a launch that the device refuses
                continue
        if not gives_the_librarys_words(self._blocks):
            raise DeviceDiffers
        return self._blocks

    def _fast_implementations(self) -> Iterator[Callable[[], None]]:
        with suppress(RuntimeError):  # what cannot be compiled is made by torch's operations
            kernel = keystream_kernel(self._start, self.made.view(torch.int32))
            if kernel is not None:
                yield kernel
        if supports_cuda_graphs(self._device):
            with suppress(RuntimeError):  # what cannot be captured is launched kernel by kernel
                yield captured(self._blocks, self._device)


def _quarter_rounds(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> None:
    """Four quarter rounds of RFC 8439, section 2.1, one in each column of (4, blocks) rows; in place."""
    for first, second, third, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        first.add_(second)
        third.bitwise_xor_(first)
        low = third.bitwise_right_shift(32 - bits).bitwise_and_((1 << bits) - 1)
        third.bitwise_left_shift_(bits).bitwise_or_(low)
