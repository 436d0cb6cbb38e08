"""Public schedules of the noise multiplier (DPBA), rounded to blocks of constant noise.

With t = step / period the paper's equations 8 to 10 read, relative to the first step and never below `end`:
exponential exp(-decay t); step decay^floor(t); polynomial (1 - end) (1 - min(t, 1))^decay + end.
"""

import math

from core.synthesis.options import IdpganOptions


def relative_multiplier(options: IdpganOptions, step: float) -> float:
    """Return the noise multiplier at `step` over the one at step 0, in [schedule_end, 1]."""
    time = step / options.schedule_period
    end = options.schedule_end
    if options.schedule == "constant":
        return 1.0
    if options.schedule == "exponential":
        value = math.exp(-options.schedule_decay * time)
    elif options.schedule == "step":
        value = options.schedule_decay ** math.floor(time)
    else:
        value = (1 - end) * (1 - min(time, 1.0)) ** options.schedule_decay + end
    return max(value, end)


def schedule_blocks(options: IdpganOptions) -> tuple[tuple[int, float], ...]:
    """Return (steps, relative multiplier) per block, in order; the last block may be shorter.

    A block takes its first step's value, so its noise is never below the schedule's. Blocks of equal value are one.
    """
    length = math.ceil(options.steps / options.schedule_blocks) if options.steps else 1
    blocks: list[tuple[int, float]] = []
    for first in range(0, options.steps, length):
        steps = min(length, options.steps - first)
        value = relative_multiplier(options, first)
        if blocks and blocks[-1][1] == value:
            blocks[-1] = (blocks[-1][0] + steps, value)
        else:
            blocks.append((steps, value))
    return tuple(blocks)
