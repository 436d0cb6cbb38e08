"""The noise of the private step as the batteries see it: drawn by the class that the step draws it with."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from models.dp.clipping import Layout, each_block_alone
from models.dp.noise import NoisyMean, noise_plan
from models.randomness import KeyedStreams, Purpose
from tests.privacy.laws.normal_battery import LENGTH

Floats = npt.NDArray[np.float64]
SIGMA = 1.3
_LAYOUT = Layout(shapes=((1, LENGTH - 1),), grouping="flat")
_PLAN = noise_plan(each_block_alone(_LAYOUT.sizes, (0.7,)), noise_multiplier=SIGMA, max_batch=1024)


def gradient_noise(streams: KeyedStreams, steps: range) -> Iterator[tuple[Floats, npt.NDArray[np.int64]]]:
    """For every step, `LENGTH` numbers that should be standard normal, and the whole steps of the grid they were."""
    mean = NoisyMean(_LAYOUT)
    for step in steps:
        drawn = mean.draw(_PLAN, streams.reader(Purpose.GRADIENT_NOISE, step)).numpy()
        yield drawn * (_PLAN.grids[0] / _PLAN.stds[0]), drawn.astype(np.int64)
