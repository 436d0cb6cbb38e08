"""Records and weights that an adversary would choose."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from models.randomness import KeyedStreams, Purpose
from tests.privacy.sensitivity.steps import CELLS, Batch, Stage

STREAMS = KeyedStreams(bytes(range(1, 33)))
PLACES = (0, 3, 6)
"""Where a neighbour's record stands among six others: first, in the middle, last."""


def uniforms(step: int, *shape: int) -> Tensor:
    """Numbers in [0, 1) that are the same in every run."""
    return STREAMS.torch_uniforms(Purpose.TEST, step, shape)


def base(dtype: torch.dtype, *, cells: bool = False, count: int = 6) -> Batch:
    """The records that neighbours share, one of them spoiled."""
    codes = torch.from_numpy(STREAMS.integers(Purpose.TEST, 1, 4, (count, 3))) + 4 * torch.arange(3)
    real = codes if cells else torch.zeros(count, CELLS, dtype=dtype).scatter_(1, codes, 1.0)
    if not cells and count:
        real[count // 2, 2] = math.nan
    return Batch(real, uniforms(2, count, CELLS).to(dtype), uniforms(3, count))


def records(dtype: torch.dtype) -> Iterator[tuple[str, Batch]]:
    """Single records, by name."""
    fake, mix = uniforms(4, 1, CELLS).to(dtype), torch.tensor([0.3])
    one_hot = torch.zeros(1, CELLS, dtype=dtype)
    one_hot[0, [1, 6, 9]] = 1.0
    signed = 2.0 * uniforms(5, 1, CELLS).to(dtype) - 1.0
    largest, tiny = torch.finfo(dtype).max, torch.finfo(dtype).tiny
    yield "ordinary", Batch(one_hot, fake, mix)
    yield "equal to its fake", Batch(fake.clone(), fake, mix)
    yield "zeros", Batch(torch.zeros_like(fake), torch.zeros_like(fake), mix)
    yield "ones in line", Batch(torch.ones_like(fake), -torch.ones_like(fake), mix)
    for name, value in (("NaN", math.nan), ("infinity", math.inf), ("minus infinity", -math.inf)):
        yield name, Batch(torch.full_like(fake, value), fake, mix)
        single = one_hot.clone()
        single[0, 3] = value
        yield f"one {name}", Batch(single, fake, mix)
        yield f"fake of {name}", Batch(one_hot, torch.full_like(fake, value), mix)
    for scale in (tiny / 8, 1e-12, 1e3, 1e6, 1e12, 1e18, 1e30, largest):
        yield f"times {scale:.0e}", Batch(signed * scale, fake, mix)
        yield f"both times {scale:.0e}", Batch(signed * scale, -fake * scale, mix)
    yield "one huge cell", Batch(one_hot + 1e20 * (torch.arange(CELLS) == 5).to(dtype), fake, mix)
    yield "at its real end", Batch(one_hot, fake, torch.tensor([1.0 - 2.0**-24]))
    yield "at its fake end", Batch(one_hot, fake, torch.tensor([0.0]))


def weights(stage: Stage) -> Iterator[tuple[str, Tensor]]:
    """Flat parameters, by name."""
    trained = stage.shaped()
    yield "initial", trained
    yield "zero", torch.zeros_like(trained)
    yield "ones in line", torch.full_like(trained, 0.3)
    yield "minus ones in line", torch.full_like(trained, -0.3)
    for scale in (1e-30, 1e-6, 1e3, 1e10, 1e18):
        yield f"times {scale:.0e}", trained * scale
    yield "largest", torch.full_like(trained, torch.finfo(trained.dtype).max)
    yield "denormal", torch.full_like(trained, torch.finfo(trained.dtype).tiny / 16)
    spoiled = trained.clone()
    spoiled[7] = math.nan
    yield "one NaN", spoiled
    one_row = trained.clone()
    one_row[: CELLS * 2] *= 1e8
    yield "two huge rows", one_row
    dead = trained.clone()
    dead[: CELLS * 8] = 0.0
    yield "dead first layer", dead
