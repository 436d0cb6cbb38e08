"""A step's noise made on a device, the same to the bit as `models.dp.noise.NoisyMean.draw` makes it on the host.

The words are the host's (`models.devices.cipher`). What is made of them by conversions, sums, products and square roots is
too, for these are rounded correctly everywhere. Only logarithm, cosine and sine are a device's own: libraries
differ by a few units in the last place. But noise is whole steps of its grid, so a number that lies farther
from the middle between two of them than both may be wrong is rounded to the same one. The others, fewer than one in a hundred,
and the radii that take a second word, are made by the host's own functions. Which these are depends on the key alone.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, cos, log, sin

from models.devices.cipher import StreamWords
from models.dp.clipping import Layout
from models.dp.noise import NoisePlan
from models.randomness import (
    PIECE,
    TURN_OF_WORD,
    KeystreamReader,
    NormalSource,
    expected_second_words,
    near_an_end,
)

DOUBT: Final = 2.0**-46
"""Relative; 64 units in the last place, where host and device together may differ by fewer than ten."""
DOUBT_FLOOR: Final = 2.0**-30
"""Steps of the grid; covers numbers next to zero."""
_SPARE: Final = 64

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Up to `PIECE` coordinates of one block whose words follow each other in the stream.

    Args:
        block: of the layout.
        coordinates: where the numbers go.
        words: index of its first word, were there no second words before it.
        pairs: index of its first pair among all pairs.
    """

    block: int
    coordinates: slice
    words: int
    pairs: int

    @property
    def size(self) -> int:
        """Pairs of words."""
        return (int(self.coordinates.stop) - int(self.coordinates.start) + 1) // 2


class DeviceNoise:
    """Draws the noise of steps on a device; stands in for `NoisyMean.draw`.

    Args:
        layout: public blocks of the coordinates.
        device: where the noise is wanted.

    Raises:
        DeviceDiffers: see `StreamWords`.
    """

    def __init__(self, layout: Layout, device: torch.device) -> None:
        self._device = device
        self._pieces = _pieces(layout)
        self._pairs = sum(piece.size for piece in self._pieces)
        self._spare = _SPARE + math.ceil(32 * expected_second_words(self._pairs))
        self._words = StreamWords(2 * self._pairs + self._spare, device)
        self._source = NormalSource()
        radii, angles, numbers = (
            np.empty(size, np.int64) for size in (self._pairs, self._pairs, layout.coordinates)
        )
        for piece in self._pieces:
            some = slice(piece.pairs, piece.pairs + piece.size)
            radii[some] = np.arange(piece.words, piece.words + piece.size)
            angles[some] = radii[some] + piece.size
            first = np.arange(piece.pairs, piece.pairs + piece.size)
            both = np.concatenate((first, first + self._pairs))  # cosines come first, then sines
            numbers[piece.coordinates] = both[: piece.coordinates.stop - piece.coordinates.start]
        self._radii, self._angles, self._numbers = (
            torch.from_numpy(index).to(device) for index in (radii, angles, numbers)
        )
        sizes = torch.tensor([piece.size for piece in self._pieces])
        self._piece_of_pair = torch.repeat_interleave(torch.arange(len(self._pieces)), sizes).to(device)
        self._starts = np.array([piece.pairs for piece in self._pieces])
        self._drawn = torch.empty(layout.coordinates, dtype=torch.float64, device=device)

    @torch.no_grad()
    def draw(self, noise: NoisePlan, reader: KeystreamReader) -> Tensor:
        """The noise in steps of its grid: whole numbers.

        Args:
            noise: public noise and grid.
            reader: stream of the noise, at its beginning; not advanced.

        Returns:
            (coordinates,) float64 on the device, valid until the next draw.
        """
        words = self._words(reader)
        shifts, rare = self._second_words(words)
        radii, angles = self._radii, self._angles
        if shifts[-1]:
            moved = torch.from_numpy(shifts).to(self._device)[self._piece_of_pair]
            radii, angles = radii + moved, angles + moved
        stds = [noise.stds[piece.block] / noise.grids[piece.block] for piece in self._pieces]
        scales = torch.tensor([-2.0 * std * std for std in stds], dtype=torch.float64).to(self._device)
        both = self._unrounded(words[radii], words[angles], scales[self._piece_of_pair])
        doubtful = _doubtful(both)
        torch.index_select(both.round_(), 0, self._numbers, out=self._drawn)
        again = torch.nonzero(doubtful).flatten().cpu().numpy() % self._pairs
        pairs = np.union1d(again, np.array(list(rare), dtype=np.int64))
        self._redo(pairs, _Drawn(words=words, radii=radii, angles=angles, rare=rare), stds)
        return self._drawn

    @staticmethod
    def _unrounded(radius: Tensor, angle: Tensor, scale: Tensor) -> Tensor:
        """(2 pairs,) cosines, then sines, in steps of the grid."""
        # both halves are exact, so their sum is the word rounded once, as the host rounds it
        u = ((radius >> 32) & 0xFFFFFFFF).double().mul_(2.0**32).add_((radius & 0xFFFFFFFF).double())
        length = log(u.mul_(2.0**-64).add_(2.0**-65)).mul_(scale).sqrt_()
        turn = angle.double().mul_(TURN_OF_WORD)
        return torch.cat((cos(turn).mul_(length), sin(turn).mul_(length)))

    def _second_words(self, words: Tensor) -> tuple[Index, dict[int, int]]:
        """How far each piece's words begin after their place, and the index of the second word of every rare pair."""
        near = torch.nonzero(near_an_end(words)).flatten().cpu().numpy()
        shifts, rare, shift = np.zeros(len(self._pieces), dtype=np.int64), dict[int, int](), 0
        for number, piece in enumerate(self._pieces):
            shifts[number] = shift
            first = piece.words + shift
            here = near[np.searchsorted(near, first) : np.searchsorted(near, first + piece.size)] - first
            for place, pair in enumerate(here.tolist()):
                rare[piece.pairs + pair] = first + 2 * piece.size + place
            shift += len(here)
        # Of spare words there are thirty times as many as are needed on average, and more.
        assert shift <= self._spare, "second words were made"
        return shifts, rare

    def _redo(self, pairs: Index, drawn: "_Drawn", stds: list[float]) -> None:
        """Write the numbers of these pairs, in ascending order, as the host makes them."""
        index = torch.from_numpy(pairs).to(self._device)
        second = [place for place, pair in enumerate(pairs.tolist()) if pair in drawn.rare]
        finer = torch.tensor([drawn.rare[int(pair)] for pair in pairs[second]], dtype=torch.int64)
        wanted = torch.cat((drawn.radii[index], drawn.angles[index], finer.to(self._device)))
        fetched = drawn.words[wanted].cpu().numpy().view(np.uint64)
        radius, angle, finest = np.split(fetched, (len(pairs), 2 * len(pairs)))
        of_piece = np.searchsorted(self._starts, pairs, side="right") - 1
        coordinates, made = [], []
        for number in np.unique(of_piece).tolist():
            piece = self._pieces[number]
            some = slice(*np.searchsorted(of_piece, (number, number + 1)).tolist())
            count = some.stop - some.start
            of_some = [some.start <= place < some.stop for place in second]
            rare = np.array(second, dtype=np.int64)[of_some] - some.start
            words = np.concatenate((radius[some], angle[some]))
            numbers = torch.empty(2 * count, dtype=torch.float64)
            self._source.from_words(words, numbers, rare=rare, finer=finest[of_some], std=stds[number])
            cosines = pairs[some] - piece.pairs + piece.coordinates.start
            both = np.concatenate((cosines, cosines + piece.size))
            inside = both < piece.coordinates.stop  # the last sine of an odd piece is not used
            coordinates.append(both[inside])
            made.append(numbers.round_().numpy()[inside])
        if made:
            places = torch.from_numpy(np.concatenate(coordinates)).to(self._device)
            self._drawn.index_copy_(0, places, torch.from_numpy(np.concatenate(made)).to(self._device))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """Words of one draw.

    Args:
        words: (words,) int64 on the device.
        radii: (pairs,) index of each pair's radius among the words.
        angles: (pairs,) alike.
        rare: index of the second word of every pair that takes one.
    """

    words: Tensor
    radii: Tensor
    angles: Tensor
    rare: dict[int, int]


def _doubtful(numbers: Tensor) -> Tensor:
    """Which numbers lie so near the middle between two whole ones that another library might round them to the other."""
    away = (numbers - numbers.round()).abs_()
    return away.add_(numbers.abs().mul_(DOUBT)) >= 0.5 - DOUBT_FLOOR


def _pieces(layout: Layout) -> tuple[_Piece, ...]:
    """As `models.dp.noise.NoisyMean` cuts a layout."""
    pieces: list[_Piece] = []
    words = pairs = 0
    for block, whole in enumerate(layout.slices()):
        for first in range(whole.start, whole.stop, PIECE):
            piece = _Piece(
                block=block,
                coordinates=slice(first, min(first + PIECE, whole.stop)),
                words=words,
                pairs=pairs,
            )
            pieces.append(piece)
            words, pairs = words + 2 * piece.size, pairs + piece.size
    return tuple(pieces)
