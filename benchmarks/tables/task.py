"""Input of a method of the comparison, and keys from seeds."""

import hashlib
from dataclasses import dataclass
from typing import Final

from benchmarks.datasets import Codes

PAPERS_MEGABYTES: Final = 80.0
"""Largest model of AIM in its paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Input of a method.

    Args:
        codes: (rows, columns) of the training rows; private.
        cardinalities: codes of every column; public.
        target: the column that is predicted from the others; public.
        ordered: whether the codes of each column are bins in their order; public.
        epsilon: of the guarantee.
        delta: of the guarantee.
        seed: of the noise; results with a seed are not private.
        most_megabytes: largest model of AIM.
        alone: special and missing codes of each column, which have no place in its order; public. Empty if there are none.
    """

    codes: Codes
    cardinalities: tuple[int, ...]
    target: int
    ordered: tuple[bool, ...]
    epsilon: float
    delta: float
    seed: int
    most_megabytes: float = PAPERS_MEGABYTES
    alone: tuple[tuple[int, ...], ...] = ()


def key_of(seed: int) -> bytes:
    """A key of 32 bytes from a seed. What it makes is not private."""
    return hashlib.sha256(f"understudy benchmark, not private, seed {seed}".encode()).digest()
