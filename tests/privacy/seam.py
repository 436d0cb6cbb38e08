"""Listening at the seam: record one job's releases, and replay them over a neighbour's exact values."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

Name = tuple[int, int]
"""Purpose and step."""


@dataclass(frozen=True)
class Heard:
    """One release: the exact values with their noise's standard deviations, and what came out."""

    exact: tuple[tuple[Tensor, float], ...]
    shapes: tuple[torch.Size, ...]
    noisy: tuple[Tensor, ...]


def copied(parts: Iterable[tuple[Tensor, float]]) -> tuple[tuple[Tensor, float], ...]:
    """The exact values in float64, which the job overwrites later."""
    return tuple((values.double().clone(), std) for values, std in parts)


def distance(now: tuple[tuple[Tensor, float], ...], then: tuple[tuple[Tensor, float], ...]) -> float:
    """How far the exact values moved, in units of their noise."""
    assert [std for _, std in now] == [std for _, std in then], "the noise is public"
    moved = [((a - b) / std).square().sum().item() for (a, std), (b, _) in zip(now, then, strict=True)]
    return math.sqrt(math.fsum(moved))


class Recorder:
    """Keeps every release, in order."""

    def __init__(self) -> None:
        self.heard: dict[Name, Heard] = {}
        self._pending: dict[Name, tuple[tuple[Tensor, float], ...]] = {}

    def exact(self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]]) -> None:
        name = (int(purpose), step)
        assert name not in self._pending, f"two exact values for {name}"
        self._pending[name] = copied(parts)

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        name = (int(purpose), step)
        assert name not in self.heard, f"{name} was released twice"
        self.heard[name] = Heard(
            exact=self._pending[name],
            shapes=tuple(each.shape for each in released),
            noisy=tuple(each.clone() for each in released),
        )


class Replayer:
    """Measures how far every exact value moved, and puts the recorded release in place of the new one."""

    def __init__(self, recorded: Recorder) -> None:
        self._recorded = recorded.heard
        self.distances: dict[Name, float] = {}
        self.released: list[Name] = []

    def exact(self, purpose: int, step: int, parts: Iterable[tuple[Tensor, float]]) -> None:
        name = (int(purpose), step)
        self.distances[name] = distance(copied(parts), self._recorded[name].exact)

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        name = (int(purpose), step)
        before = self._recorded[name]
        assert tuple(each.shape for each in released) == before.shapes
        for each, kept in zip(released, before.noisy, strict=True):
            each.copy_(kept)
        self.released.append(name)
