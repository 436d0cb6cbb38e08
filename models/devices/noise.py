"""A step's Gaussian noise, generated on a device with the bits that `models.dp.noise.NoisyMean` gives on the host.

The words of the keystream are the host's (`models.devices.cipher`). Conversions, sums, products and square roots are
rounded correctly everywhere, so they give the same bits too. Only logarithm, cosine and sine differ between libraries,
by a few units in the last place. Noise is a whole number of steps of its grid, so both libraries round a number to the
same step unless it lies closer to the middle between two steps than their combined error. Those numbers, fewer than one
in a hundred, and the radii that take a second word, are computed by the host's own functions. Which they are depends on
the key alone.

A GPU generates the noise on its own stream, in parallel to the step's products, and replays a CUDA graph where that gives
the same bits.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, cos, log, sin

from models.devices.cipher import StreamWords
from models.devices.cuda_graph import captured, supports_cuda_graphs
from models.devices.errors import DeviceDiffers
from models.dp.clipping import Layout
from models.dp.noise import GRID_BITS, NoisePlan, NoisyMean
from models.randomness import (
    PIECE,
    TURN_OF_WORD,
    KeystreamReader,
    expected_second_words,
    near_an_end,
)

DOUBT: Final = 2.0**-46
"""Relative error allowed for: 64 units in the last place. Host and device together differ by fewer than ten."""
DOUBT_FLOOR: Final = 2.0**-30
"""Absolute error allowed for, in steps of the grid; covers numbers close to zero."""
_SPARE: Final = 64

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pieces:
    """The pieces of at most `PIECE` coordinates of one block, whose words are consecutive in the stream; one entry each.

    Args:
        block: of the layout.
        start: its first coordinate.
        stop: the one after its last.
        words: index of its first word, if no second words came before it.
        pairs: index of its first pair of words among all pairs.
        sizes: pairs of words.
    """

    block: Index
    start: Index
    stop: Index
    words: Index
    pairs: Index
    sizes: Index

    @classmethod
    def of(cls, layout: Layout) -> "_Pieces":
        """The pieces into which `NoisyMean` cuts a layout."""
        cut = [
            (block, first, min(first + PIECE, whole.stop))
            for block, whole in enumerate(layout.slices())
            for first in range(whole.start, whole.stop, PIECE)
        ]
        block, start, stop = np.array(cut, dtype=np.int64).T
        sizes = (stop - start + 1) // 2
        pairs = np.cumsum(sizes) - sizes
        return cls(block=block, start=start, stop=stop, words=2 * pairs, pairs=pairs, sizes=sizes)


class DeviceNoise(NoisyMean):
    """Draws the noise of steps on a device, and adds it to sums there.

    Raises:
        DeviceDiffers: see `StreamWords`.
    """

    def __init__(self, layout: Layout, device: torch.device) -> None:
        super().__init__(layout)
        self._device = device
        self._aside = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._cut = cut = _Pieces.of(layout)
        self._pairs = int(cut.sizes.sum())
        self._spare = _SPARE + math.ceil(32 * expected_second_words(self._pairs))
        self._words = StreamWords(2 * self._pairs + self._spare, device)
        piece_of_pair = np.repeat(np.arange(len(cut.block)), cut.sizes)
        self._radii = np.arange(self._pairs) + np.repeat(cut.words - cut.pairs, cut.sizes)
        self._angles = self._radii + np.repeat(cut.sizes, cut.sizes)
        self._piece_of_pair = piece_of_pair
        numbers = np.empty(layout.coordinates, dtype=np.int64)
        for start, stop, first in zip(cut.start, cut.stop, cut.pairs, strict=True):
            both = np.arange(first, first + (stop - start + 1) // 2)
            # Cosines come first, then sines.
            numbers[start:stop] = np.concatenate((both, both + self._pairs))[: stop - start]
        self._there = {
            name: torch.from_numpy(index).to(device)
            for name, index in (
                ("radii", self._radii),
                ("angles", self._angles),
                ("pieces", piece_of_pair),
                ("numbers", numbers),
                ("blocks", np.repeat(np.arange(layout.blocks), layout.sizes)),
            )
        }
        self._shifts = torch.zeros(len(cut.block), dtype=torch.int64, device=device)
        self._scales = torch.ones(len(cut.block), dtype=torch.float64, device=device)
        self._placed: NoisePlan | None = None
        self._grids = torch.ones(layout.blocks, dtype=torch.float64, device=device)
        self._found = torch.zeros(len(self._words) + 2 * self._pairs, dtype=torch.bool, device=device)
        self._drawn = torch.empty(layout.coordinates, dtype=torch.float64, device=device)
        self._make: Callable[[], None] = self._numbers
        if supports_cuda_graphs(device):
            self._capture(layout)

    @torch.no_grad()
    def draw(self, noise: NoisePlan, reader: KeystreamReader) -> Tensor:
        """The noise in steps of its grid: whole numbers.

        Args:
            reader: stream of the noise, at its beginning; not advanced.

        Returns:
            (coordinates,) float64 on the device, valid until the next draw.
        """
        with self._beside():
            self._place(noise)
            words = self._words(reader)
            self._shifts.zero_()
            self._make()
            near, doubtful = self._seen()
            shifts, rare = self._second_words(near)
            if shifts[-1]:
                self._shifts.copy_(torch.from_numpy(shifts))
                self._make()
                _, doubtful = self._seen()
            pairs = np.union1d(doubtful % self._pairs, np.array(list(rare), dtype=np.int64))
            self._redo(pairs, words, shifts, rare, noise)
        return self._drawn

    @torch.no_grad()
    def write(self, total: Tensor, noise: NoisePlan, drawn: Tensor, *, divisor: float, into: Tensor) -> None:
        """See `NoisyMean.write`: the same operations on every number, all blocks at once."""
        self._place(noise)
        grids = self._grids[self._there["blocks"]]
        released = total.mul_(grids.reciprocal()).round_()
        released += drawn
        into.copy_(released.mul_(grids.div_(divisor)))

    @contextmanager
    def _beside(self) -> Iterator[None]:
        """Run on the noise's own stream: after the readers of the previous draw and before the readers of this one."""
        if self._aside is None:
            yield
            return
        here = torch.cuda.current_stream(self._device)
        self._aside.wait_stream(here)
        try:
            with torch.cuda.stream(self._aside):
                yield
        finally:
            here.wait_stream(self._aside)

    def _place(self, noise: NoisePlan) -> None:
        """Copy the public scales and grids of a step's noise to the device."""
        if noise == self._placed:
            return
        self._placed = None
        stds = self._stds(noise)[self._cut.block]
        self._scales.copy_(torch.from_numpy(-2.0 * stds * stds))
        self._grids.copy_(torch.tensor(noise.grids, dtype=torch.float64))
        self._placed = noise

    @staticmethod
    def _stds(noise: NoisePlan) -> npt.NDArray[np.float64]:
        """The standard deviation of every block, in steps of its grid."""
        steps: npt.NDArray[np.float64] = np.array(noise.stds) / np.array(noise.grids)
        return steps

    def _numbers(self) -> None:
        """Make all numbers from the words in place, and mark those that the host has to compute."""
        words, pieces = self._words.made, self._there["pieces"]
        moved = self._shifts[pieces]
        both = self._unrounded(
            words[self._there["radii"] + moved], words[self._there["angles"] + moved], self._scales[pieces]
        )
        self._found[: len(words)] = near_an_end(words)
        self._found[len(words) :] = _doubtful(both)
        torch.index_select(both.round_(), 0, self._there["numbers"], out=self._drawn)

    @staticmethod
    def _unrounded(radius: Tensor, angle: Tensor, scale: Tensor) -> Tensor:
        """(2 pairs,) cosines, then sines, in steps of the grid."""
        # both halves are exact, so their sum is the word rounded once, as the host rounds it
        u = ((radius >> 32) & 0xFFFFFFFF).double().mul_(2.0**32).add_((radius & 0xFFFFFFFF).double())
        length = log(u.mul_(2.0**-64).add_(2.0**-65)).mul_(scale).sqrt_()
        turn = angle.double().mul_(TURN_OF_WORD)
        return torch.cat((cos(turn).mul_(length), sin(turn).mul_(length)))

    def _capture(self, layout: Layout) -> None:
        """Replay a CUDA graph from now on, if it gives the same bits for public words."""
        plan = NoisePlan(stds=(1.0,) * layout.blocks, grids=(2.0**-GRID_BITS,) * layout.blocks)
        reader = KeystreamReader(bytes(32), bytes(12))
        plain = self.draw(plan, reader).clone()
        with suppress(RuntimeError):  # what cannot be captured is launched kernel by kernel
            self._make = captured(self._numbers, self._device)
        if not torch.equal(self.draw(plan, reader), plain):
            self._make = self._numbers
            if not torch.equal(self.draw(plan, reader), plain):
                raise DeviceDiffers

    def _seen(self) -> tuple[Index, Index]:
        """The words near an end and the numbers that the host has to compute; waits for the device."""
        found = torch.nonzero(self._found).flatten().cpu().numpy()
        words = int(np.searchsorted(found, len(self._words)))
        return found[:words], found[words:] - len(self._words)

    def _second_words(self, near: Index) -> tuple[Index, dict[int, int]]:
        """Number of words by which each piece is shifted, and the index of the second word of every rare pair."""
        cut = self._cut
        shifts, rare, shift = np.zeros(len(cut.block), dtype=np.int64), dict[int, int](), 0
        for piece in range(len(cut.block)) if len(near) else ():
            shifts[piece] = shift
            first, size = int(cut.words[piece]) + shift, int(cut.sizes[piece])
            here = near[np.searchsorted(near, first) : np.searchsorted(near, first + size)] - first
            for place, pair in enumerate(here.tolist()):
                rare[int(cut.pairs[piece]) + pair] = first + 2 * size + place
            shift += len(here)
        # There are more than thirty times as many spare words as are needed on average.
        assert shift <= self._spare, "second words were made"
        return shifts, rare

    def _redo(
        self, pairs: Index, words: Tensor, shifts: Index, rare: dict[int, int], noise: NoisePlan
    ) -> None:
        """Compute the numbers of these pairs on the host, in ascending order, and write them over the device's."""
        pieces = self._piece_of_pair[pairs]
        second = np.flatnonzero(np.isin(pairs, list(rare)))
        finer = np.array([rare[int(pair)] for pair in pairs[second]], dtype=np.int64)
        wanted = np.concatenate(
            (self._radii[pairs] + shifts[pieces], self._angles[pairs] + shifts[pieces], finer)
        )
        fetched = words[torch.from_numpy(wanted).to(self._device)].cpu().numpy().view(np.uint64)
        radius, angle, finest = np.split(fetched, (len(pairs), 2 * len(pairs)))
        stds, cosines = (
            self._stds(noise)[self._cut.block[pieces]],
            pairs + (self._cut.start - self._cut.pairs)[pieces],
        )
        for first in range(0, len(pairs), PIECE // 2):
            some = slice(first, first + PIECE // 2)
            count = len(pairs[some])
            of_some = (second >= first) & (second < first + count)
            made = torch.empty(2 * count, dtype=torch.float64)
            self._source.from_words(
                np.concatenate((radius[some], angle[some])),
                made,
                rare=second[of_some] - first,
                finer=finest[of_some],
                std=stds[some],
            )
            places = np.concatenate((cosines[some], cosines[some] + self._cut.sizes[pieces[some]]))
            inside = places < np.tile(
                self._cut.stop[pieces[some]], 2
            )  # the last sine of an odd piece is not used
            written = np.stack((places[inside], made.round_().view(torch.int64).numpy()[inside]))
            there = torch.from_numpy(written).to(self._device)
            self._drawn.index_copy_(0, there[0], there[1].view(torch.float64))


def _doubtful(numbers: Tensor) -> Tensor:
    """Mask of numbers so close to the middle between two integers that another library might round them the other way."""
    away = (numbers - numbers.round()).abs_()
    return away.add_(numbers.abs().mul_(DOUBT)) >= 0.5 - DOUBT_FLOOR
