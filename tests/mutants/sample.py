"""The random few that every run of the tests tries."""

import os
import secrets
from collections.abc import Sequence
from typing import Final

import numpy as np

from tests.mutants.mutant import Mutant

SAMPLE: Final = 3
SEED: Final = "MUTANTS_SEED"
"""Environment variable that repeats a draw."""


def seed_of_run() -> int:
    """The seed that the environment names, or a fresh one."""
    return int(os.environ[SEED]) if os.environ.get(SEED) else secrets.randbelow(2**32)


def drawn(mutants: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Some mutants, without repetition."""
    chosen = np.random.default_rng(seed).choice(len(mutants), size=SAMPLE, replace=False)
    return [mutants[number] for number in sorted(chosen.tolist())]
