"""Before training: does this machine round a record alike at every place of a chunk?

How a matrix product rounds is decided by its shape, the alignment of its rows, the threads and the library's kernels,
never by the numbers in it. The first three are the same at every place (`models.critic.chunks`); what is left is the
library's treatment of the last rows of a tile. So one chunk is filled with copies of one public record and worked
through at the critic's own shapes: if any copy's factors or norms differ in a bit, this machine cannot keep one
record from moving the others' gradients, and nothing is trained on it.
"""

import math
from typing import Final

import torch
from torch import Tensor

from models.critic.closed_form import ClosedForm
from models.critic.conv_form import ConvForm
from models.critic.label_form import LabelForm
from models.dp.errors import UnevenRounding

_COLUMNS: Final = 5
"""Of the record that is tried as cells; any number does, for cells are added one by one."""


def require_even_rounding(form: ClosedForm, *, inputs: int, dtype: torch.dtype) -> None:
    """Work through a chunk of copies of one record, as a vector and as cells.

    Args:
        form: of a critic with weights that are no round numbers.
        inputs: cells of a record.
        dtype: the critic's precision.

    Raises:
        UnevenRounding: some copy came out differently.
    """
    real, fake = torch.sin(torch.arange(1, 2 * inputs + 1, dtype=torch.float64)).to(dtype).view(2, inputs)
    cells = torch.arange(inputs)[:_COLUMNS]
    for record in (real, cells):
        count = form.at_once
        copies = record.expand(count, -1), fake.expand(count, -1), torch.full((count,), 0.3)
        for numbers in form.of_records(*copies):
            if not _alike(numbers):
                raise UnevenRounding


def require_even_images(
    form: ConvForm | LabelForm, *, image: tuple[int, int, int], labelled: bool, dtype: torch.dtype
) -> None:
    """Work through a chunk of copies of one image.

    Args:
        form: of a critic with weights that are no round numbers.
        image: channels, height and width.
        labelled: whether the critic has classes.
        dtype: the critic's precision.

    Raises:
        UnevenRounding: some copy came out differently.
    """
    numbers = torch.sin(torch.arange(1, 2 * math.prod(image) + 1, dtype=torch.float64)).to(dtype)
    real, fake = (record.expand(form.at_once, *image) for record in numbers.view(2, *image))
    labels = torch.zeros(form.at_once, dtype=torch.int64) if labelled else None
    for made in form.of_records(real, fake, torch.full((form.at_once,), 0.3), labels=labels):
        if not _alike(made):
            raise UnevenRounding


def _alike(numbers: Tensor) -> bool:
    """Whether all places of (..., records, d) hold the same numbers."""
    return bool((numbers == numbers[..., :1, :]).all())
