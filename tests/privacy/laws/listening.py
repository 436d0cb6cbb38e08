"""A job that listens at the seam and at its streams: every release with its exact values, every address with its draws."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from models.randomness import KeyedStreams, KeystreamReader, Purpose

Name = tuple[int, int]
"""Purpose and step."""


@dataclass
class Release:
    """Exact values with the standard deviation of their noise, and what came out."""

    exact: list[tuple[Tensor, float]]
    noisy: list[Tensor] = field(default_factory=list)


class Listener:
    """Keeps every release in the order of the job."""

    def __init__(self) -> None:
        self.heard: dict[Name, Release] = {}

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]], **_stated: float | None
    ) -> None:
        assert (int(purpose), step) not in self.heard, "a release has its noise once"
        self.heard[int(purpose), step] = Release([(values.clone(), std) for values, std in parts])

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        release = self.heard[int(purpose), step]
        assert not release.noisy, "a release comes out once"
        release.noisy = [each.clone() for each in released]


class CountedReader(KeystreamReader):
    """A reader that tells how many bytes were taken of it."""

    def __init__(self, key: bytes, nonce: bytes) -> None:
        super().__init__(key, nonce)
        self.taken = 0

    def take(self, count: int) -> bytes:
        self.taken += count
        return super().take(count)

    def words_into(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        self.taken += words.nbytes
        return super().words_into(words)


class CountedStreams(KeyedStreams):
    """Streams that remember who opened which address and how much was taken of it."""

    def __init__(self, key: bytes, *, releases: Any = None) -> None:
        super().__init__(key, releases=releases)
        self.opened: defaultdict[Name, list[CountedReader]] = defaultdict(list)

    def reader(self, purpose: Purpose, step: int) -> KeystreamReader:
        made = CountedReader(self._key, int(purpose).to_bytes(4, "little") + step.to_bytes(8, "little"))
        self.opened[int(purpose), step].append(made)
        return made

    def bytes(self, purpose: Purpose, step: int, count: int) -> bytes:
        return self.reader(purpose, step).take(count)

    def taken(self, purpose: Purpose, step: int) -> int:
        """Bytes taken of an address that was opened once."""
        (only,) = self.opened[int(purpose), step]
        return only.taken

    def steps(self, purpose: Purpose) -> list[int]:
        """Steps of a purpose whose address was opened, in order."""
        return [step for kind, step in self.opened if kind == int(purpose)]


def flat(parts: Iterable[tuple[Tensor, float]]) -> tuple[Tensor, Tensor]:
    """Exact values and standard deviations, one number each."""
    pairs = [(values.double().flatten(), std) for values, std in parts]
    return (
        torch.cat([values for values, _ in pairs]),
        torch.cat([torch.full((values.numel(),), std, dtype=torch.float64) for values, std in pairs]),
    )
