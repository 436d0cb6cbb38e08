"""The noise schedule and the histogram groups, recomputed from a plan's options."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]
_ROUNDED_UP = 2e-5
"""Relative tolerance of multipliers, which have six digits, rounded up."""


def block_problems(plan: Json) -> Iterator[str]:
    """Report noise blocks that differ from the options' schedule, from the first block's multiplier on."""
    options, blocks = plan["options"], plan["blocks"]
    expected = [
        (first, min(steps, plan["steps"] - first), relative)
        for first, steps, relative in _blocks(options)
        if first < plan["steps"]
    ]
    stated = [(block["first_step"], block["steps"]) for block in blocks]
    if stated != [(first, steps) for first, steps, _relative in expected]:
        yield "plan/blocks: not the schedule's steps"
        return
    ordered = options.get("first_noise_multiplier")
    if ordered is not None and not 1 <= blocks[0]["noise_multiplier"] / ordered <= 1 + _ROUNDED_UP:
        yield "plan/blocks/0: not the ordered noise"
    for index, (block, (_first, _steps, relative)) in enumerate(zip(blocks, expected, strict=True)):
        wanted = blocks[0]["noise_multiplier"] * relative
        if not 1 - 1e-12 <= block["noise_multiplier"] / wanted <= 1 + _ROUNDED_UP:
            yield f"plan/blocks/{index}/noise_multiplier"


def steps_fit(plan: Json) -> bool:
    """Whether a plan has the steps of its options: all of them, or some if the order sets the noise."""
    ordered = plan["options"]["steps"]
    if plan["options"].get("first_noise_multiplier") is None:
        return bool(plan["steps"] == ordered)
    return bool(1 <= plan["steps"] <= ordered)


def _blocks(options: Json) -> Iterator[tuple[int, int, float]]:
    """First step, number of steps and relative multiplier of every block; equal neighbours are merged."""
    steps, delay, blocks = options["steps"], options.get("schedule_start", 0), options["schedule_blocks"]
    if not steps:
        return
    starts = list(range(0, steps, math.ceil(steps / blocks)))
    if delay:
        length = math.ceil((steps - delay) / max(blocks - 1, 1))
        starts = [0, *range(delay, steps, length)][:blocks]
    first, value = 0, _relative(options, 0)
    for start in starts[1:]:
        following = _relative(options, start)
        if following != value:
            yield first, start - first, value
            first, value = start, following
    yield first, steps - first, value


def _relative(options: Json, step: int) -> float:
    """The ratio of a step's multiplier to the first one's (DPBA, equations 8 to 10), never below the schedule's end."""
    decay, end = options["schedule_decay"], options["schedule_end"]
    time = max(0, step - options.get("schedule_start", 0)) / options["schedule_period"]
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
    """Number of groups of the critic's coordinates: one, one per layer, or blocks of rows; plus one for all biases.

    `image_outputs` is the number of scores of a critic of images, whose layers double their channels; None for tables.
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
