"""Replay addresses and the numbers drawn at them. A resumed job must draw the same coins and the same noise.

The members are named by the purpose's number, which is part of the address; what the code calls it is not.
"""

from collections.abc import Callable
from typing import Any, Final

import torch

from models.dp.discrete import discrete_gaussians
from models.dp.noise import rounded_sum_with_noise
from models.randomness import KeyedStreams, Purpose

KEY: Final = bytes(range(32))
STEP: Final = 258
COUNT: Final = 8


def streams() -> dict[str, object]:
    """The beginning of the stream of every purpose, and each kind of draw."""
    keyed = KeyedStreams(KEY)
    members: dict[str, object] = {
        f"stream of purpose {int(purpose)} at step {STEP}": keyed.bytes(purpose, STEP, 32).hex()
        for purpose in Purpose
    }
    for step in (0, 1, 2**64 - 1):
        members[f"stream of the test purpose at step {step}"] = keyed.bytes(Purpose.TEST, step, 32).hex()
    draws: dict[str, Callable[[], Any]] = {
        "words": lambda: [hex(word) for word in keyed.words(Purpose.TEST, STEP, COUNT).tolist()],
        "uniforms": lambda: keyed.uniforms(Purpose.TEST, STEP, COUNT).tolist(),
        "normals": lambda: keyed.normals(Purpose.TEST, STEP, COUNT).tolist(),
        "normals, odd count": lambda: keyed.normals(Purpose.TEST, STEP, COUNT - 1).tolist(),
        "float32 uniforms": lambda: keyed.torch_uniforms(Purpose.TEST, STEP, COUNT).tolist(),
        "coins": lambda: keyed.coins(Purpose.TEST, STEP, 0.3, 64).astype(int).tolist(),
        "integers": lambda: keyed.integers(Purpose.TEST, STEP, 1000, COUNT).tolist(),
        "exact integers": lambda: [
            reader.below(1000) for reader in [keyed.reader(Purpose.TEST, STEP)] * COUNT
        ],
        "discrete Gaussians": lambda: discrete_gaussians(
            keyed, Purpose.TEST, STEP, noise_std=12.5, count=COUNT
        ).tolist(),
        "sum with noise on a grid": lambda: rounded_sum_with_noise(
            torch.arange(6, dtype=torch.float64).reshape(2, 3),
            [1.0, 40.0],
            keyed.reader(Purpose.TEST, STEP),
            bits=20,
        ).tolist(),
    }
    return members | {f"draw: {name}": draw() for name, draw in draws.items()}
