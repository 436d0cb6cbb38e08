"""Placement invariance: a check before training that this machine rounds a record alike at every place of a microbatch.

How a matrix product rounds depends on its shape, the alignment of its rows, the threads and the library's kernels, never
on the numbers in it. The first three are the same at every place (`models.critic.microbatch`); what is left is how the
library treats the last rows of a tile. So one microbatch is filled with copies of one public record and processed at the
critic's own shapes. If the factors or norms of any copy differ in a bit, one record could change the other records'
gradients before clipping, and nothing is trained on this machine.
"""

import math
from typing import Final

import torch
from torch import Tensor

from models.critic.closed_form import ClosedForm
from models.critic.conv_form import ImageForm
from models.dp.errors import UnevenRounding

_COLUMNS: Final = 5
"""Columns of the record that is tried as cells; any number will do, because cells are added one by one."""


def require_placement_invariance(form: ClosedForm, *, inputs: int, dtype: torch.dtype) -> None:
    """Process a microbatch of copies of one record, as a vector and as cells.

    Args:
        form: of an initialised critic; zero or round weights would hide rounding.
        inputs: cells of a record.

    Raises:
        UnevenRounding: some copy gave other bits.
    """
    real, fake = torch.sin(torch.arange(1, 2 * inputs + 1, dtype=torch.float64)).to(dtype).view(2, inputs)
    cells = torch.arange(inputs)[:_COLUMNS]
    for record in (real, cells):
        count = form.microbatch_size
        copies = record.expand(count, -1), fake.expand(count, -1), torch.full((count,), 0.3)
        for numbers in form.of_records(*copies):
            if not _alike(numbers):
                raise UnevenRounding


def require_image_placement_invariance(
    form: ImageForm, *, image: tuple[int, int, int], labelled: bool, dtype: torch.dtype
) -> None:
    """Process a microbatch of copies of one image.

    Args:
        form: of an initialised critic; zero or round weights would hide rounding.
        image: channels, height and width.
        labelled: whether the critic has classes.

    Raises:
        UnevenRounding: some copy gave other bits.
    """
    numbers = torch.sin(torch.arange(1, 2 * math.prod(image) + 1, dtype=torch.float64)).to(dtype)
    real, fake = (record.expand(form.microbatch_size, *image) for record in numbers.view(2, *image))
    labels = torch.zeros(form.microbatch_size, dtype=torch.int64) if labelled else None
    for made in form.of_records(real, fake, torch.full((form.microbatch_size,), 0.3), labels=labels):
        if not _alike(made):
            raise UnevenRounding


def _alike(numbers: Tensor) -> bool:
    """Whether all places of (..., records, d) hold the same numbers."""
    return bool((numbers == numbers[..., :1, :]).all())
