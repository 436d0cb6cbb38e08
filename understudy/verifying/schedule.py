"""The schedule of the noise and the groups of histograms, computed again from a plan's options."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]
_ROUNDED_UP = 2e-5
"""Multipliers have six digits, rounded up: relative."""


def block_problems(plan: Json) -> Iterator[str]:
    """Report where the blocks of noise are not the options' schedule, from the first block's multiplier on."""
    expected = list(_blocks(plan["options"]))
    blocks = plan["blocks"]
    stated = [(block["first_step"], block["steps"]) for block in blocks]
    if stated != [(first, steps) for first, steps, _relative in expected]:
        yield "plan/blocks: not the schedule's steps"
        return
    for index, (block, (_first, _steps, relative)) in enumerate(zip(blocks, expected, strict=True)):
        wanted = blocks[0]["noise_multiplier"] * relative
        if not 1 - 1e-12 <= block["noise_multiplier"] / wanted <= 1 + _ROUNDED_UP:
            yield f"plan/blocks/{index}/noise_multiplier"


def _blocks(options: Json) -> Iterator[tuple[int, int, float]]:
    """First step, steps and relative multiplier of every block; neighbours of equal value are one."""
    steps = options["steps"]
    if not steps:
        return
    length = math.ceil(steps / options["schedule_blocks"])
    first, value = 0, _relative(options, 0)
    for start in range(length, steps, length):
        following = _relative(options, start)
        if following != value:
            yield first, start - first, value
            first, value = start, following
    yield first, steps - first, value


def _relative(options: Json, step: int) -> float:
    """The multiplier at a step over the first one's (DPBA, equations 8 to 10), never below the schedule's end."""
    time, decay, end = step / options["schedule_period"], options["schedule_decay"], options["schedule_end"]
    match options["schedule"]:
        case "constant":
            return 1.0
        case "exponential":
            value = math.exp(-decay * time)
        case "step":
            value = decay ** math.floor(time)
        case _:
            value = (1 - end) * (1 - min(time, 1.0)) ** decay + end
    return float(max(value, end))


def histogram_groups(options: Json, *, image_outputs: int | None) -> int:
    """Number of the critic's groups of coordinates: one, one a layer, or blocks of rows; and one of all biases.

    Args:
        options: of the plan.
        image_outputs: scores of a critic of images, whose layers double their channels; None for tables.
    """
    if options["grouping"] == "flat":
        return 1
    width, layers = options["critic_width"], options["critic_layers"]
    if image_outputs is None:
        outputs = [width] * layers + [1]
    else:
        outputs = [width * 2**layer for layer in range(layers)] + [image_outputs]
    if options["grouping"] == "layers":
        return len(outputs) + 1
    return int(sum(min(options["row_blocks"], one) for one in outputs)) + 1
